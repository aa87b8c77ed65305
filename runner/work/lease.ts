/**
 * One grant of work as the main thread sees it: the state of its lease and the listener for the next change.
 */
import type { LeaseState } from '../control-plane/heartbeat-protocol.ts';
import type { Heartbeat } from '../control-plane/heartbeat.ts';
import type { BuildPhase, EnteredPhase } from '../control-plane/wire.ts';
import type { WorkRef } from '../control-plane/work-ref.ts';

export interface Lease {
  readonly ref: WorkRef;
  /**
   * Undefined before the first answer. It only goes from `ok` over `cancelled` and `lost` to `superseded`:
   * the last two end everything, `cancelled` ends the task.
   */
  readonly state: LeaseState | undefined;
  /**
   * Calls the listener at every change from now on, and at once when there is a state already. There is one
   * listener: a later one replaces it.
   */
  onChange(listener: (state: LeaseState) => void): void;
  /** Resolves with the first state. */
  readonly firstState: Promise<LeaseState>;
  /** Takes over a state that the answer to another call carried. */
  update(state: LeaseState, sentMonotonicMs?: number): void;
  /**
   * Announces a phase of a build. Resolves when a heartbeat that named it was answered `ok`: only then does
   * the control plane know, and will not give the build to somebody else by itself. Never resolves when the
   * lease ends before; whoever waits must watch the lease, too.
   */
  enter(entered: EnteredPhase): Promise<void>;
  finished(): void;
  release(): void;
}

const ORDER: Readonly<Record<LeaseState, number>> = { ok: 0, cancelled: 1, lost: 2, superseded: 3 };

/** `leaseMs` is the offer's; undefined for ended work whose report is outstanding. */
export function holdLease(heartbeat: Heartbeat, ref: WorkRef, leaseMs: number | undefined): Lease {
  let state: LeaseState | undefined;
  let listener: (state: LeaseState) => void = () => undefined;
  let resolveFirst: (state: LeaseState) => void = () => undefined;
  const firstState = new Promise<LeaseState>((resolve) => (resolveFirst = resolve));
  const advance = (next: LeaseState) => {
    if (state !== undefined && ORDER[next] <= ORDER[state]) return;
    state = next;
    resolveFirst(next);
    listener(next);
  };
  const entering = new Map<BuildPhase, () => void>();
  heartbeat.hold(ref, leaseMs, (next, phase) => {
    advance(next);
    if (next === 'ok' && phase !== undefined) entering.get(phase)?.();
  });
  return {
    ref,
    get state() {
      return state;
    },
    onChange(next) {
      listener = next;
      if (state !== undefined) listener(state);
    },
    firstState,
    update(next, sentMonotonicMs) {
      if (next === 'ok' && sentMonotonicMs !== undefined) heartbeat.renewed(ref, sentMonotonicMs);
      advance(next);
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
