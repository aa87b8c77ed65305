/**
 * The calls at work. Not a Set: the tables of a Set that is added to and deleted from all the time are replaced all the time, in
 * the old generation, and each dead table keeps the calls that it held (with request and response) from being collected cheaply.
 * Slots of one array are reused instead; a call knows its own.
 */
import type { ActiveCall } from './active-call.ts';

export class CallList {
  readonly #slots: (ActiveCall | undefined)[] = [];
  readonly #free: number[] = [];

  get size(): number {
    return this.#slots.length - this.#free.length;
  }

  add(call: ActiveCall): void {
    call.slot = this.#free.pop() ?? this.#slots.length;
    this.#slots[call.slot] = call;
  }

  /** A call is removed at most once. */
  remove(call: ActiveCall): void {
    this.#slots[call.slot] = undefined;
    this.#free.push(call.slot);
  }

  /** Those that are at work now; `act` may remove some. */
  forEach(act: (call: ActiveCall) => void): void {
    for (const call of this.#slots.slice()) if (call !== undefined) act(call);
  }
}
