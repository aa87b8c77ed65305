/**
 * Things that come and go. Not a Set: the tables of a Set that is added to and deleted from all the time are replaced all the time, in
 * the old generation, and each dead table keeps the things that it held (a call with its request and response) from being collected cheaply.
 * Places of one array are reused instead; whoever adds a thing keeps its place.
 */
export class Slots<T extends object> {
  readonly #things: (T | undefined)[] = [];
  readonly #free: number[] = [];

  get size(): number {
    return this.#things.length - this.#free.length;
  }

  /** Returns its place. */
  add(thing: T): number {
    const slot = this.#free.pop() ?? this.#things.length;
    this.#things[slot] = thing;
    return slot;
  }

  /** At most once. */
  remove(slot: number): void {
    this.#things[slot] = undefined;
    this.#free.push(slot);
  }

  /** Those that are here now. */
  values(): T[] {
    return this.#things.filter((thing) => thing !== undefined);
  }
}
