import type { Clock } from '@svc/proto/process/clock.ts';

interface Due {
  readonly atMs: number;
  readonly run: () => void;
  timer?: NodeJS.Timeout;
}

/** The real clocks, which a test can move on at once, and timers by them. */
export class ShiftedClock implements Clock {
  #shiftMs = 0;
  readonly #due = new Set<Due>();

  advance(ms: number): void {
    this.#shiftMs += ms;
    for (const due of this.#due) this.#arm(due);
  }

  now(): Date {
    return new Date(Date.now() + this.#shiftMs);
  }

  monotonicMs(): number {
    return performance.now() + this.#shiftMs;
  }

  readonly after = (ms: number, run: () => void): (() => void) => {
    const due: Due = { atMs: this.monotonicMs() + ms, run };
    this.#due.add(due);
    this.#arm(due);
    return () => this.#disarm(due);
  };

  #arm(due: Due): void {
    clearTimeout(due.timer);
    due.timer = setTimeout(() => {
      this.#disarm(due);
      due.run();
    }, due.atMs - this.monotonicMs());
  }

  #disarm(due: Due): void {
    clearTimeout(due.timer);
    this.#due.delete(due);
  }
}
