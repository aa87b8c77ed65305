/**
 * One timer for tens of thousands of deadlines. A parked poll costs its place in a set here instead of a `setTimeout` with its closure.
 *
 * What must hold: an entry fires at most 50 ms before its time and never before that, is out of the wheel when `onDue` runs (which may arm it again), and the process timer runs only
 * while the wheel holds something.
 */
import type { Clock } from '@svc/proto/process/clock.ts';

const TICK_MS = 50;

/** Something with a deadline. Extend it, then arm it. */
export abstract class TimerEntry {
  /** For the wheel alone. */
  wheelTick: number | undefined = undefined;

  /** The deadline has come. Must not throw. */
  abstract onDue(): void;
}

export class TimerWheel {
  readonly #clock: Clock;
  /** By their ticks. */
  readonly #entries = new Map<number, Set<TimerEntry>>();
  /** The last tick that was fired. */
  #tick = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Fires `entry` at `atMs` of the monotonic clock, at most 50 ms early; a deadline in the past fires with the next tick. */
  arm(entry: TimerEntry, atMs: number): void {
    this.disarm(entry);
    if (this.#timer === undefined) {
      this.#tick = this.#now();
      this.#timer = setInterval(() => this.advance(), TICK_MS);
    }
    const tick = Math.max(Math.floor(atMs / TICK_MS), this.#tick + 1);
    const entries = this.#entries.get(tick);
    if (entries === undefined) this.#entries.set(tick, new Set([entry]));
    else entries.add(entry);
    entry.wheelTick = tick;
  }

  disarm(entry: TimerEntry): void {
    if (entry.wheelTick === undefined) return;
    const entries = this.#entries.get(entry.wheelTick);
    entries?.delete(entry);
    if (entries?.size === 0) this.#entries.delete(entry.wheelTick);
    entry.wheelTick = undefined;
    if (this.#entries.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Fires what is due. Called by the wheel's own timer. */
  advance(): void {
    const last = this.#tick;
    this.#tick = this.#now();
    for (let tick = last + 1; tick <= this.#tick; tick += 1) {
      // An entry that another one disarms is gone from here; one that is armed anew gets a later tick.
      for (const entry of this.#entries.get(tick) ?? []) {
        this.disarm(entry);
        entry.onDue();
      }
    }
  }

  #now(): number {
    return Math.floor(this.#clock.monotonicMs() / TICK_MS);
  }
}
