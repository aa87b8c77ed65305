/**
 * One timer for tens of thousands of deadlines. A parked poll costs a few fields here instead of a `setTimeout` with its
 * closure.
 *
 * Entries hang in doubly linked lists, one list for each slot of 50 ms, 2,048 slots around. The wheel owns the links; an
 * entry is in at most one list. What must hold: an entry fires at most one slot before its time and never before
 * that, is out of the wheel when `onDue` runs (which may arm it again), and the process timer runs only while the wheel holds something.
 */
import type { Clock } from '@svc/proto/process/clock.ts';

const SLOT_MS = 50;
/** 102 s around; later deadlines stay in their slot for another round. */
const SLOTS = 2048;

/** Something with a deadline. Extend it, then arm it. */
export abstract class TimerEntry {
  /** For the wheel alone. */
  wheelTick = -1;
  wheelNext: TimerEntry | undefined = undefined;
  wheelPrevious: TimerEntry | undefined = undefined;

  /** The deadline has come. Must not throw. */
  abstract onDue(): void;
}

export class TimerWheel {
  readonly #clock: Clock;
  readonly #heads: (TimerEntry | undefined)[] = Array.from({ length: SLOTS }, () => undefined);
  #size = 0;
  /** Last tick whose slot was emptied. */
  #tick: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#tick = Math.floor(clock.monotonicMs() / SLOT_MS);
  }

  get size(): number {
    return this.#size;
  }

  /** Fires `entry` at `atMs` of the monotonic clock, at most 50 ms early; a deadline in the past fires with the next tick. */
  arm(entry: TimerEntry, atMs: number): void {
    this.disarm(entry);
    if (this.#timer === undefined) this.#start();
    entry.wheelTick = Math.max(Math.floor(atMs / SLOT_MS), this.#tick + 1);
    const slot = entry.wheelTick % SLOTS;
    const head = this.#heads[slot];
    entry.wheelNext = head;
    if (head !== undefined) head.wheelPrevious = entry;
    this.#heads[slot] = entry;
    this.#size += 1;
  }

  disarm(entry: TimerEntry): void {
    if (entry.wheelTick === -1) return;
    const { wheelNext: next, wheelPrevious: previous } = entry;
    if (previous === undefined) this.#heads[entry.wheelTick % SLOTS] = next;
    else previous.wheelNext = next;
    if (next !== undefined) next.wheelPrevious = previous;
    entry.wheelNext = undefined;
    entry.wheelPrevious = undefined;
    entry.wheelTick = -1;
    this.#size -= 1;
    if (this.#size === 0) this.#stop();
  }

  /** Fires what is due. Called by the wheel's own timer. */
  advance(): void {
    const now = Math.floor(this.#clock.monotonicMs() / SLOT_MS);
    // After a stall of more than one round every slot is looked at once.
    const first = Math.max(this.#tick + 1, now - SLOTS + 1);
    this.#tick = now;
    for (let tick = first; tick <= now; tick += 1) this.#fireSlot(tick % SLOTS, now);
  }

  #fireSlot(slot: number, now: number): void {
    let entry = this.#heads[slot];
    const due: TimerEntry[] = [];
    while (entry !== undefined) {
      if (entry.wheelTick <= now) due.push(entry);
      entry = entry.wheelNext;
    }
    // An entry may disarm or arm others of this very slot: only those that still wait for their old time are fired.
    for (const each of due) {
      if (each.wheelTick === -1 || each.wheelTick > now) continue;
      this.disarm(each);
      each.onDue();
    }
  }

  #start(): void {
    // Nothing was in the wheel, so nothing is skipped by moving on to now.
    this.#tick = Math.floor(this.#clock.monotonicMs() / SLOT_MS);
    this.#timer = setInterval(() => this.advance(), SLOT_MS);
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
