/** Time as a dependency: tests move it by hand. */
export interface Clock {
  /** Wall clock; for what is stored and shown. */
  now(): Date;
  /** Never goes back; for durations and limits. */
  monotonicMs(): number;
}

export const systemClock: Clock = {
  now: () => new Date(),
  monotonicMs: () => performance.now(),
};

/** Starts at `start` and moves only by `advance`. */
export function createFakeClock(
  start: Date = new Date('2026-01-01T00:00:00.000Z'),
): Clock & { advance(ms: number): void } {
  const startMs = start.getTime();
  let elapsedMs = 0;
  return {
    now: () => new Date(startMs + elapsedMs),
    monotonicMs: () => elapsedMs,
    advance: (ms) => {
      elapsedMs += ms;
    },
  };
}
