/**
 * One grant of work as the main thread sees it: the state of its lease and the listener for the next change.
 */
import type { LeaseState } from '../control-plane/heartbeat-protocol.ts';
import type { Heartbeat } from '../control-plane/heartbeat.ts';
import type { BuildPhase, EnteredPhase } from '../control-plane/wire.ts';
import type { WorkRef } from '../control-plane/work-ref.ts';

const ORDER: Readonly<Record<LeaseState, number>> = { ok: 0, cancelled: 1, lost: 2, superseded: 3 };

/** `leaseMs` is the offer's; undefined for ended work whose report is outstanding. */
export function holdLease(heartbeat: Heartbeat, ref: WorkRef, leaseMs: number | undefined) {
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
    /**
     * Undefined before the first answer. It only goes from `ok` over `cancelled` and `lost` to `superseded`:
     * the last two end everything, `cancelled` ends the task.
     */
    get state() {
      return state;
    },
    /**
     * Calls the listener at every change from now on, and at once when there is a state already. There is one
     * listener: a later one replaces it.
     */
    onChange(next: (state: LeaseState) => void) {
      listener = next;
      if (state !== undefined) listener(state);
    },
    /** It resolves with the first state. */
    firstState,
    /** Takes over a state that the answer to another call carried. */
    update(next: LeaseState, sentMonotonicMs?: number) {
      if (next === 'ok' && sentMonotonicMs !== undefined) heartbeat.renewed(ref, sentMonotonicMs);
      advance(next);
    },
    /**
     * Announces a phase of a build. Resolves when a heartbeat that named it was answered `ok`: only then does
     * the control plane know, and will not give the build to somebody else by itself. Never resolves when the
     * lease ends before; whoever waits must watch the lease, too.
     */
    async enter(entered: EnteredPhase) {
      const confirmed = new Promise<void>((resolve) => entering.set(entered.phase, resolve));
      heartbeat.enter(ref, entered);
      await confirmed;
    },
    finished: () => heartbeat.finished(ref),
    release: () => heartbeat.release(ref),
  };
}

export type Lease = ReturnType<typeof holdLease>;
