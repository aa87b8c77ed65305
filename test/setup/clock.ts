import type { Clock } from '@svc/proto/process/clock.ts';

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
