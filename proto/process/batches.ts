/**
 * What comes together is done together. At most `parallel` runs are under way, and what arrives meanwhile
 * goes into the next one, with all that its turn of the event loop brings. Nobody waits for a batch to fill:
 * where nothing is under way an item goes at once, before its turn has ended; the busier a process is, the
 * less work it does an item.
 *
 * What must hold: items leave in the order in which they came, but for those that share a key with one before
 * them; each is settled once, by its own outcome.
 */

export interface Batching<Item, Answer> {
  /**
   * Resolves with what came of each item, in their order; an Error is the refusal of that one. Rejects when
   * nothing was done for any of them.
   */
  run(items: readonly Item[]): Promise<ReadonlyArray<Answer | Error>>;
  /** Runs under way at once. */
  readonly parallel: number;
  /** Items in a run. */
  readonly itemsMax: number;
  /** Items that wait; the next one is refused with `overfull`. */
  readonly waitingMax: number;
  overfull(): Error;
  /** Items that share a key never go into one run. Default: none do. */
  keysOf?(item: Item): readonly string[];
  /**
   * Returns how much of `sizeMax` an item takes; a first item goes whatever its size. By default an item
   * takes nothing.
   */
  sizeOf?(item: Item): number;
  readonly sizeMax?: number;
  /**
   * Says whether a run that was rejected with this error is run again item by item, so that a bad one fails
   * alone. Default: it is not.
   */
  divides?(error: unknown): boolean;
}

interface Waiting<Item, Answer> {
  readonly item: Item;
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

export function inBatches<Item, Answer>(batching: Batching<Item, Answer>): (item: Item) => Promise<Answer> {
  const { parallel, waitingMax } = batching;
  let waiting: Array<Waiting<Item, Answer>> = [];
  let running = 0;
  let isScheduled = false;

  const begin = (): void => {
    isScheduled = false;
    while (waiting.length > 0 && running < parallel) {
      const batch = take(batching, waiting);
      // Most often all of them go.
      if (batch.length === waiting.length) waiting = [];
      else {
        const taken = new Set(batch);
        waiting = waiting.filter((each) => !taken.has(each));
      }
      running += 1;
      void settle(batching, batch).then(() => {
        running -= 1;
        schedule();
      });
    }
  };
  const schedule = (): void => {
    if (isScheduled || waiting.length === 0 || running >= parallel) return;
    isScheduled = true;
    if (running === 0) queueMicrotask(begin);
    else setImmediate(begin);
  };
  return (item) => {
    if (waiting.length >= waitingMax) return Promise.reject(batching.overfull());
    return new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      schedule();
    });
  };
}

/** The first ones that may go together. */
function take<Item, Answer>(
  { itemsMax, keysOf, sizeOf, sizeMax = Number.POSITIVE_INFINITY }: Batching<Item, Answer>,
  waiting: ReadonlyArray<Waiting<Item, Answer>>,
): Array<Waiting<Item, Answer>> {
  const batch: Array<Waiting<Item, Answer>> = [];
  const keys = new Set<string>();
  let size = 0;
  for (const each of waiting) {
    const own = keysOf?.(each.item) ?? [];
    const goes = !own.some((key) => keys.has(key));
    for (const key of own) keys.add(key); // Those behind it do not overtake it.
    if (!goes) continue;
    size += sizeOf?.(each.item) ?? 0;
    if (batch.length === itemsMax || (batch.length > 0 && size > sizeMax)) break;
    batch.push(each);
  }
  return batch;
}

/** Does not reject. */
async function settle<Item, Answer>(
  batching: Batching<Item, Answer>,
  batch: ReadonlyArray<Waiting<Item, Answer>>,
): Promise<void> {
  try {
    const answers = await batching.run(batch.map(({ item }) => item));
    batch.forEach(({ resolve, reject }, at) => {
      const answer = answers[at];
      if (answer instanceof Error) reject(answer);
      else resolve(answer as Answer);
    });
  } catch (error) {
    if (batch.length === 1 || batching.divides?.(error) !== true)
      return batch.forEach(({ reject }) => reject(error));
    // They go all at once, so that what one of them waits for adds nothing to the time of the others.
    await Promise.all(batch.map(async (each) => await settle(batching, [each])));
  }
}
