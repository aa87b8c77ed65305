/**
 * This clock does not wait: short timers fire in the next turn, the named ones only when the test says so.
 */
import type { Runtime } from '../runtime.ts';

export interface FakeRuntime extends Runtime {
  /** Every pause that was waited out, in order. */
  readonly pauses: readonly number[];
  /** Lets the pending timers of this length fire. */
  fire(ms: number): void;
  /** Pending timers by length. */
  pending(ms: number): number;
}

/**
 * Makes the clock. Timers of the lengths in `heldMs` wait for `fire`; these are by default the attempt
 * timeout and the idle limit of streams.
 */
export function createFakeRuntime(options: { readonly heldMs?: readonly number[] } = {}): FakeRuntime {
  const heldMs = options.heldMs ?? [8_000, 45_000];
  const held = new Map<symbol, { readonly ms: number; readonly fire: () => void }>();
  const pauses: number[] = [];
  let nowMs = Date.UTC(2026, 10, 20);
  let keys = 0;
  return {
    pauses,
    now: () => nowMs,
    random: () => 0.5,
    uuid: () => `key-${(keys += 1)}`,
    timer: (ms, fire) => {
      const key = Symbol(ms);
      if (heldMs.includes(ms)) {
        held.set(key, { ms, fire });
        return () => held.delete(key);
      }
      const handle = setImmediate(() => {
        pauses.push(ms);
        nowMs += ms;
        fire();
      });
      return () => clearImmediate(handle);
    },
    fire: (ms) => {
      for (const [key, timer] of held) {
        if (timer.ms !== ms) continue;
        held.delete(key);
        nowMs += ms;
        timer.fire();
      }
    },
    pending: (ms) => [...held.values()].filter((timer) => timer.ms === ms).length,
  };
}
