/**
 * Pages by cursor: `await` is for everything, `for await` for items as they come, `pages()` for page by page.
 */

export interface Page<T> {
  readonly items: readonly T[];
  /** Cursor of the next page; it is absent on the last page, and only there: an empty page is not the end. */
  readonly nextCursor?: string;
}

/** `left` is how many items are still wanted: infinitely many without a limit. */
type FetchPage<T> = (cursor: string | undefined, left: number) => Promise<Page<T>>;

export interface PageRange {
  /** `nextCursor` of the page before the first one. */
  readonly cursor?: string;
  /** Most items in all. Default: every one. */
  readonly limit?: number;
}

/**
 * It is lazy: nothing is requested before it is awaited or iterated, because only then is it known whether
 * all pages are wanted. Awaiting twice requests once; every iteration starts anew.
 */
export class PagePromise<T> implements Promise<T[]>, AsyncIterable<T> {
  readonly #fetchPage: FetchPage<T>;
  readonly #range: PageRange;
  #all: Promise<T[]> | undefined;

  readonly [Symbol.toStringTag] = 'PagePromise';

  constructor(fetchPage: FetchPage<T>, range: PageRange) {
    this.#fetchPage = fetchPage;
    this.#range = range;
  }

  async *pages(): AsyncGenerator<Page<T>, void, undefined> {
    let { cursor, limit: left = Number.POSITIVE_INFINITY } = this.#range;
    for (;;) {
      const page = await this.#fetchPage(cursor, left);
      // A server may answer more than it was asked for.
      const items = page.items.slice(0, left);
      yield { ...page, items };
      left -= items.length;
      const { nextCursor } = page;
      if (nextCursor === undefined || left <= 0) return;
      // A server that hands out the cursor it was given would keep us here for ever.
      if (nextCursor === cursor)
        throw new Error(`the server answered page ${cursor} with itself as the next page`);
      cursor = nextCursor;
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const page of this.pages()) yield* page.items;
  }

  #collected(): Promise<T[]> {
    this.#all ??= this.#collect();
    return this.#all;
  }

  async #collect(): Promise<T[]> {
    const items: T[] = [];
    for await (const item of this) items.push(item);
    return items;
  }

  // It is a thenable on purpose: the documented `await sdk.projects.list()` gives an array.
  then<A = T[], B = never>(
    onFulfilled?: ((value: T[]) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#collected().then(onFulfilled, onRejected);
  }

  catch<B = never>(onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<T[] | B> {
    return this.#collected().catch(onRejected);
  }

  finally(onFinally?: (() => void) | null): Promise<T[]> {
    return this.#collected().finally(onFinally);
  }
}
