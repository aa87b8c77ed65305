/**
 * The polls of a pool in the order in which they came. Linked, and not a Set, for the reason that slots.ts gives: the dead tables of a Set would
 * carry each poll, with its request and response, into the old generation.
 *
 * What must hold: a waiter is in at most one line (its `pool` says which), and its links are gone when it has left.
 */
import type { Waiter } from './waiter.ts';

export class WaitingLine {
  #first: Waiter | undefined;
  #last: Waiter | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The one that has waited longest; the next ones are its `nextInLine`. */
  get first(): Waiter | undefined {
    return this.#first;
  }

  add(waiter: Waiter): void {
    waiter.previousInLine = this.#last;
    if (this.#last === undefined) this.#first = waiter;
    else this.#last.nextInLine = waiter;
    this.#last = waiter;
    this.#size += 1;
  }

  remove(waiter: Waiter): void {
    const { nextInLine: next, previousInLine: previous } = waiter;
    if (previous === undefined) this.#first = next;
    else previous.nextInLine = next;
    if (next === undefined) this.#last = previous;
    else next.previousInLine = previous;
    waiter.nextInLine = undefined;
    waiter.previousInLine = undefined;
    this.#size -= 1;
  }
}
