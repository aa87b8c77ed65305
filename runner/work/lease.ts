/** One grant as the rest of the daemon sees it: the control plane's last word on it, and who wants to hear the next. */
import type { LeaseWord } from '../control-plane/heartbeat-protocol.ts';
import type { Heartbeat } from '../control-plane/heartbeat.ts';
import type { BuildPhase, EnteredPhase } from '../control-plane/wire.ts';
import type { WorkRef } from '../control-plane/work-ref.ts';

export interface Lease {
  readonly ref: WorkRef;
  /** The strongest word so far: `superseded` and `lost` end everything, `cancelled` ends the task. */
  readonly word: LeaseWord | undefined;
  /** Hears every change of the word from now on, and at once a word that is there already. One listener: a later one takes over. */
  listen(onWord: (word: LeaseWord) => void): void;
  /** Resolves with the first word. */
  readonly first: Promise<LeaseWord>;
  /** The control plane said it in the answer to another call. */
  heard(word: LeaseWord, sentMonotonicMs?: number): void;
  /**
   * Announces a phase of a build. Resolves when a heartbeat that named it was answered `ok`: only then does the control plane know, and will not
   * give the build to somebody else by itself. Never resolves when the lease ends before; whoever waits must listen to that, too.
   */
  enter(entered: EnteredPhase): Promise<void>;
  finished(): void;
  release(): void;
}

const STRENGTH: Readonly<Record<LeaseWord, number>> = { ok: 0, cancelled: 1, lost: 2, superseded: 3 };

/** `leaseMs`: of the offer; undefined for ended work whose report is outstanding. */
export function holdLease(heartbeat: Heartbeat, ref: WorkRef, leaseMs: number | undefined): Lease {
  let word: LeaseWord | undefined;
  let listener: (word: LeaseWord) => void = () => undefined;
  let resolveFirst: (word: LeaseWord) => void = () => undefined;
  const first = new Promise<LeaseWord>((resolve) => (resolveFirst = resolve));
  const take = (said: LeaseWord) => {
    if (word !== undefined && STRENGTH[said] <= STRENGTH[word]) return;
    word = said;
    resolveFirst(said);
    listener(said);
  };
  const entering = new Map<BuildPhase, () => void>();
  heartbeat.hold(ref, leaseMs, (said, phase) => {
    take(said);
    if (said === 'ok' && phase !== undefined) entering.get(phase)?.();
  });
  return {
    ref,
    get word() {
      return word;
    },
    listen(onWord) {
      listener = onWord;
      if (word !== undefined) onWord(word);
    },
    first,
    heard(said, sentMonotonicMs) {
      if (said === 'ok' && sentMonotonicMs !== undefined) heartbeat.renewed(ref, sentMonotonicMs);
      take(said);
    },
    async enter(entered) {
      const confirmed = new Promise<void>((resolve) => entering.set(entered.phase, resolve));
      heartbeat.enter(ref, entered);
      await confirmed;
    },
    finished: () => heartbeat.finished(ref),
    release: () => heartbeat.release(ref),
  };
}
