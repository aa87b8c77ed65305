/**
 * Time, in the two kinds that must never be mixed: the monotonic clock for leases and durations, the wall
 * clock for signatures and for people. Both are the same for the main thread and the heartbeat thread
 * (`performance.now()` is not: each thread has its own zero).
 */

/** Reads the machine's monotonic clock in milliseconds, with fractions. */
export function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}

/** Reads this machine's own clock, right or wrong, in milliseconds since 1970. */
export function wallMs(): number {
  return Date.now();
}

/**
 * An offset beyond 32 bits (24 days) is clipped; such a reply is not believed anyway
 * (proto/signature/skew.ts).
 */
const OFFSET_MS_MAX = 2 ** 31 - 1;

export function createClockOffset(shared = new SharedArrayBuffer(4)) {
  const cell = new Int32Array(shared);
  return {
    get: () => Atomics.load(cell, 0),
    set(offsetMs: number) {
      Atomics.store(cell, 0, Math.max(-OFFSET_MS_MAX, Math.min(OFFSET_MS_MAX, Math.round(offsetMs))));
    },
    shared,
  };
}

/**
 * The difference between the server's clock and the wall clock, in milliseconds. It is one number for the
 * whole process: the two threads share it, so that a skew that one of them learned does not cost the other a
 * refused request.
 */
export type ClockOffset = ReturnType<typeof createClockOffset>;

/** Resolves after `ms`, or at once when the signal is aborted. Never rejects: callers look at the signal. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted === true) return;
  await new Promise<void>((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', done);
  });
}
