/**
 * Holds what comes and goes by the thousand, each in its place of an array. A Set or a Map that fills and
 * empties is copied by the engine time and again; the table that it leaves behind points to the new one, and
 * once it is old it keeps alive what stands there until a major collection.
 *
 * What always holds: an item stands in one place, a place that is given back is taken again before a new one
 * is made, and nothing stands in a free one.
 */
export class Places<Item extends object> {
  readonly #items: Array<Item | undefined> = [];
  readonly #free: number[] = [];
  #freeCount = 0;

  get size(): number {
    return this.#items.length - this.#freeCount;
  }

  /** Returns the place, by which the item is taken out. */
  add(item: Item): number {
    if (this.#freeCount === 0) return this.#items.push(item) - 1;
    this.#freeCount -= 1;
    const place = this.#free[this.#freeCount] as number;
    this.#items[place] = item;
    return place;
  }

  /** Returns false where another item stands there by now, or none. */
  remove(place: number, item: Item): boolean {
    if (this.#items[place] !== item) return false;
    this.#items[place] = undefined;
    // Written over and not popped: an array that shrinks and grows is copied, too.
    this.#free[this.#freeCount] = place;
    this.#freeCount += 1;
    return true;
  }

  clear(): void {
    this.#items.length = 0;
    this.#freeCount = 0;
  }

  /** An item that is added meanwhile may be left out; one that is taken out meanwhile is left out. */
  *[Symbol.iterator](): Generator<Item> {
    for (const item of this.#items) if (item !== undefined) yield item;
  }
}
