/**
 * This file keeps one pool and kind of work at this gateway: the polls that wait for it, in their order, and
 * the hints that tell of items for them.
 *
 * A hint means "ask now" and nothing else: the poll that waits longest asks the server again, and when its
 * runner cannot have what waits, the next one. Hints arrive while polls wait here and for a while after;
 * before they do, and now and then in spite of them, the pool asks without one, so that a lost hint costs
 * seconds.
 *
 * What must hold: a poll that was asked for before the newest hint came is asked for again before that hint
 * counts as answered, because its statement may have run before the item was there.
 *
 */
import type { Clock } from '@svc/proto/process/clock.ts';
import type { Subscription, WorkHint, WorkQueue } from '@svc/proto/queue/queue.ts';
import type { Metrics } from './metrics.ts';
import type { PollKind, Waiter } from './waiter.ts';

export interface PoolTimes {
  /** Between asks without a hint while hints cannot be expected. */
  readonly fallbackMs: number;
  /** The same while they can. */
  readonly safetyMs: number;
  /** The subscription outlives the last poll by so long. */
  readonly lingerMs: number;
}

export const POOL_TIMES: PoolTimes = {
  fallbackMs: 2_000,
  safetyMs: 15_000,
  lingerMs: 10_000,
};

/**
 * Polls that ask in vain, one after the other, before the pool takes it that nobody here can have what waits.
 */
const MISSES_MAX = 16;
/** Polls that ask at once because of hints. */
const SEEKERS_MAX = 64;

export interface PoolDeps {
  readonly queue: WorkQueue;
  /** Runs what is given in so many milliseconds. Returns what gives it up. */
  readonly after: (ms: number, run: () => void) => () => void;
  readonly clock: Clock;
  /** Numbers asks and hints in the order in which they come. */
  readonly order: () => number;
  readonly random: () => number;
  /** Asks that nobody told of, a few at once. What it runs must not reject. */
  readonly background: (ask: () => Promise<void>) => Promise<void>;
  readonly metrics: Metrics;
  readonly times: PoolTimes;
}

/** `empty`: nothing waits in the pool. `unfit`: something does, which this runner cannot have. */
export type AskOutcome = 'offer' | 'empty' | 'unfit' | 'failed';

export interface PoolOwner {
  /** Asks for a ready waiter, which is not ready then. Does not reject. */
  askAgain(waiter: Waiter): Promise<AskOutcome>;
  /** Nobody waits and nothing is subscribed. */
  forget(pool: Pool): void;
}

export interface PoolName {
  readonly poolId: string;
  readonly kind: PollKind;
}

export class Pool {
  readonly key: string;
  readonly #name: PoolName;
  readonly #owner: PoolOwner;
  readonly #deps: PoolDeps;
  /** Ready and asking ones, in the order in which they came. */
  readonly #waiting = new Set<Waiter>();
  #subscription: Subscription | undefined;
  #lingerUntilMs = 0;
  /** When the server was last asked about this pool. */
  #askedMs = Number.NEGATIVE_INFINITY;
  /** The newest hint has this number. */
  #hinted = 0;
  /** Hints that are not answered, and polls that ask because of them. */
  #sought = 0;
  #seekers = 0;
  #misses = 0;
  /** An ask failed, so an item may wait whose hint is used up. Until the pool was found empty. */
  #uncertain = false;
  #closed = false;
  #disarm = (): void => undefined;

  constructor(name: PoolName, owner: PoolOwner, deps: PoolDeps) {
    this.key = poolKey(name.poolId, name.kind);
    this.#name = name;
    this.#owner = owner;
    this.#deps = deps;
  }

  /** A poll begins to wait, or goes on behind the others, after the server was asked for it. */
  add(waiter: Waiter): void {
    this.#askedMs = this.#deps.clock.monotonicMs();
    waiter.pool = this;
    this.#waiting.delete(waiter);
    this.#waiting.add(waiter);
    if (this.#waiting.size === 1) this.rearm();
    this.#adjustSubscription();
    if (waiter.asked < this.#hinted) this.#sought = Math.max(this.#sought, 1);
    else if (this.#seekers === 0) this.#sought = 0;
    void this.#go();
  }

  remove(waiter: Waiter): void {
    if (waiter.pool !== this) return;
    waiter.pool = undefined;
    this.#waiting.delete(waiter);
    if (this.#waiting.size > 0) return;
    this.#lingerUntilMs = this.#deps.clock.monotonicMs() + this.#deps.times.lingerMs;
    this.rearm();
  }

  /** Polls of others than this runner wait here. */
  isWaitedFor(runnerId: string): boolean {
    for (const { ask } of this.#waiting) if (ask.caller.runnerId !== runnerId) return true;
    return false;
  }

  /** Sets the timer for whatever is next; also called when the broker comes or goes. */
  rearm(): void {
    this.#disarm();
    if (this.#closed) return;
    const { after, random, clock } = this.#deps;
    const nowMs = clock.monotonicMs();
    const interval = this.#intervalMs();
    const nextMs = Math.max(this.#askedMs, nowMs - interval) + interval * (1 + random() / 4);
    const atMs = this.#waiting.size === 0 ? this.#lingerUntilMs : nextMs;
    this.#disarm = after(atMs - nowMs, () => this.#onDue());
  }

  #onDue(): void {
    this.#adjustSubscription();
    if (this.#waiting.size === 0) return this.#owner.forget(this);
    if (this.#deps.clock.monotonicMs() - this.#askedMs >= this.#intervalMs()) this.#askUnhinted();
    this.rearm();
  }

  /** Ends the subscription. Polls that still wait are the owner's business. */
  close(): void {
    this.#closed = true;
    this.#disarm();
    this.#adjustSubscription();
  }

  #intervalMs(): number {
    const { queue, times } = this.#deps;
    const hinted = queue.up && this.#subscription?.live === true && !this.#uncertain;
    return hinted ? times.safetyMs : times.fallbackMs;
  }

  #wantsHints(): boolean {
    if (this.#closed) return false;
    return this.#waiting.size > 0 || this.#deps.clock.monotonicMs() < this.#lingerUntilMs;
  }

  #adjustSubscription(): void {
    const running = this.#subscription;
    if (this.#wantsHints() === (running !== undefined)) return;
    this.#subscription = undefined;
    if (running !== undefined) return void running.stop();
    this.#subscription = this.#deps.queue.subscribe(this.#name.poolId, this.#name.kind, {
      onHint: (hint) => this.#onHint(hint),
      onLive: (live) => this.#onLive(live),
    });
  }

  /** What was hinted before hints began to arrive is found by asking once. */
  #onLive(live: boolean): void {
    if (live && this.#waiting.size > 0) this.#askUnhinted();
    this.rearm();
  }

  #askUnhinted(): void {
    this.#askedMs = this.#deps.clock.monotonicMs();
    void this.#deps.background(async () => {
      this.#hinted = this.#deps.order();
      await this.#seek(this.#seekers + 1);
    });
  }

  #onHint({ count }: WorkHint): void {
    this.#hinted = this.#deps.order();
    void this.#seek(this.#sought + count);
  }

  /**
   * Has polls ask until that many items are found, the pool is empty, or nobody is left who might have what
   * waits. Does not reject.
   */
  async #seek(count: number): Promise<void> {
    this.#sought = Math.min(count, SEEKERS_MAX);
    this.#misses = 0;
    await this.#go();
  }

  async #go(): Promise<void> {
    const asked: Promise<void>[] = [];
    while (this.#seekers < this.#sought) {
      const waiter = this.#next();
      if (waiter === undefined) break; // the next one that is added goes on
      asked.push(this.#ask(waiter));
    }
    await Promise.all(asked);
  }

  /** The one that waits longest and was not asked for since the newest hint. */
  #next(): Waiter | undefined {
    for (const waiter of this.#waiting)
      if (waiter.state === 'ready' && waiter.asked < this.#hinted) return waiter;
    return undefined;
  }

  async #ask(waiter: Waiter): Promise<void> {
    this.#seekers += 1;
    const outcome = await this.#owner.askAgain(waiter);
    this.#seekers -= 1;
    if (outcome === 'offer') {
      this.#sought = Math.max(0, this.#sought - 1);
      this.#misses = 0;
    } else if (outcome === 'failed') {
      this.#uncertain = true;
      this.#sought = 0;
      this.rearm();
    } else if (outcome === 'empty' && waiter.asked > this.#hinted) {
      this.#uncertain = false;
      this.#sought = 0;
    } else {
      this.#misses += 1;
      if (this.#misses >= MISSES_MAX) this.#sought = 0;
    }
    await this.#go();
  }
}

export function poolKey(poolId: string, kind: PollKind): string {
  return `${kind} ${poolId}`;
}
