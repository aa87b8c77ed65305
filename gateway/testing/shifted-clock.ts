import type { Clock } from '@svc/proto/process/clock.ts';

/** The real clocks, which a test can move on at once. */
export class ShiftedClock implements Clock {
  #shiftMs = 0;

  advance(ms: number): void {
    this.#shiftMs += ms;
  }

  now(): Date {
    return new Date(Date.now() + this.#shiftMs);
  }

  monotonicMs(): number {
    return performance.now() + this.#shiftMs;
  }
}
