/**
 * One pool and kind of work at this gateway: the polls that wait for it, its one subscription, and the claims made for them.
 *
 * A hint means "try now" and nothing else: it is answered by a claim for the poll that waits longest. The subscription lasts
 * while polls wait here and for a while after; while it is not live, and now and then in spite of it, the pool claims without
 * a hint, so that a lost hint costs seconds.
 *
 * What must hold: a waiter is marked `claiming` before its claim is sent and takes part in one claim at a time; a claim
 * whose waiter is gone ends quietly, because the offer stands for the poll id and its repetition fetches it.
 */
import { WorkKind, type DispatchService, type Offer } from '@svc/proto/gen/svc/dispatch/v1/dispatch_pb.ts';
import { toApiError, type ApiError } from '@svc/proto/http/errors.ts';
import type { Client } from '@svc/proto/http/implement.ts';
import type { Subscription, WorkHint, WorkQueue } from '@svc/proto/queue/queue.ts';
import type { Logger } from 'pino';
import type { Background } from './background.ts';
import type { Clock } from '@svc/proto/process/clock.ts';
import type { Granted } from './granted.ts';
import type { Metrics } from './metrics.ts';
import { TimerEntry, type TimerWheel } from './timer-wheel.ts';
import type { PollKind, Waiter } from './waiter.ts';
import { within } from './within.ts';

export interface PoolTimes {
  /** Between claims without a hint while hints cannot be expected. */
  readonly fallbackMs: number;
  /** The same while they can. */
  readonly safetyMs: number;
  /** How long the subscription outlives the last poll. */
  readonly lingerMs: number;
  /** How long a hint waits for a poll before it goes back: a busy runner polls again within milliseconds. */
  readonly hintPatienceMs: number;
}

export const POOL_TIMES: PoolTimes = {
  fallbackMs: 2_000,
  safetyMs: 15_000,
  lingerMs: 10_000,
  hintPatienceMs: 25,
};

/** Polls for which an unhinted claim is tried before the pool counts as empty: not every runner may take every item. */
const TRIES_MAX = 3;
/** For how long after that a hint whose item is taken is believed to be stale. */
const EMPTY_BELIEVED_MS = 50;
/** A claim whose outcome is unknown is tried again after about this long. */
const RETRY_MS = 1_000;

export interface PoolDeps {
  readonly dispatch: Pick<Client<typeof DispatchService>, 'claim' | 'returnHint'>;
  readonly queue: WorkQueue;
  readonly wheel: TimerWheel;
  readonly clock: Clock;
  readonly random: () => number;
  readonly background: Background;
  readonly metrics: Metrics;
  readonly granted: Granted;
  readonly log: Logger;
  readonly times: PoolTimes;
}

export interface PoolOwner {
  deliver(waiter: Waiter, offer: Offer): void;
  refuse(waiter: Waiter, error: ApiError): void;
  /** The claim for a waiter whose time was up has ended without an offer. */
  expire(waiter: Waiter): void;
  /** Nobody knows whether the claim won: the waiter has to ask for the standing offer of its poll id. */
  askAgain(waiter: Waiter): void;
  /** Nobody waits and nothing is subscribed. */
  forget(pool: Pool): void;
}

type Outcome = 'won' | 'lost' | 'refused' | 'failed';

export interface PoolName {
  readonly poolId: string;
  readonly kind: PollKind;
}

export class Pool extends TimerEntry {
  readonly key: string;
  readonly #poolId: string;
  readonly #kind: PollKind;
  readonly #owner: PoolOwner;
  readonly #deps: PoolDeps;
  /** Ready and claiming ones, in the order in which they came. */
  readonly #waiting = new Set<Waiter>();
  /** Hints that wait for a ready poll. */
  readonly #hinted: ((waiter: Waiter | undefined) => void)[] = [];
  /** The last poll that the server is being asked for. A hint waits for it: it, or one before it, has often found the hint's item already. */
  #asking: Promise<void> | undefined;
  #subscription: Subscription | undefined;
  #lingerUntilMs = 0;
  #askedMs = Number.NEGATIVE_INFINITY;
  #emptyMs = Number.NEGATIVE_INFINITY;
  #claimingNext = false;
  /** A claim failed, so an item may wait whose hint is used up. Until the pool was found empty. */
  #uncertain = false;
  #closed = false;

  constructor({ poolId, kind }: PoolName, owner: PoolOwner, deps: PoolDeps) {
    super();
    this.key = poolKey(poolId, kind);
    this.#poolId = poolId;
    this.#kind = kind;
    this.#owner = owner;
    this.#deps = deps;
  }

  /** A poll begins to wait. The server was just asked for it, at `askedMs`. */
  add(waiter: Waiter, askedMs: number): void {
    this.#askedMs = Math.max(this.#askedMs, askedMs);
    waiter.pool = this;
    this.#waiting.add(waiter);
    this.#offerToHints(waiter);
    if (this.#waiting.size === 1) this.rearm();
    this.#adjustSubscription();
  }

  remove(waiter: Waiter): void {
    if (waiter.pool !== this) return;
    waiter.pool = undefined;
    this.#waiting.delete(waiter);
    if (this.#waiting.size > 0) return;
    this.#lingerUntilMs = this.#deps.clock.monotonicMs() + this.#deps.times.lingerMs;
    this.rearm();
  }

  /** Sets the timer for whatever is next; also called when the broker comes or goes. */
  rearm(): void {
    if (this.#closed) return;
    const { wheel, random } = this.#deps;
    if (this.#waiting.size === 0) return wheel.arm(this, this.#lingerUntilMs);
    const interval = this.#intervalMs();
    wheel.arm(
      this,
      Math.max(this.#askedMs, this.#deps.clock.monotonicMs() - interval) + interval * (1 + random() / 4),
    );
  }

  onDue(): void {
    this.#adjustSubscription();
    if (this.#waiting.size === 0) {
      if (this.#subscription === undefined) return this.#owner.forget(this);
      return this.#deps.wheel.arm(this, this.#deps.clock.monotonicMs() + RETRY_MS);
    }
    const idleMs = this.#deps.clock.monotonicMs() - this.#askedMs;
    if (idleMs >= this.#intervalMs()) this.#deps.background.run(() => this.#claimNext('fallback'));
    this.rearm();
  }

  /** Ends the subscription. Polls that still wait are the owner's business. */
  close(): void {
    this.#closed = true;
    this.#deps.wheel.disarm(this);
    for (const wake of this.#hinted.splice(0)) wake(undefined);
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
    this.#subscription = this.#deps.queue.subscribe(this.#poolId, this.#kind, {
      onHint: (hint) => void this.#onHint(hint),
      onLive: (live) => this.#onLive(live),
    });
  }

  /** What was hinted before hints began to arrive is found by asking once. */
  #onLive(live: boolean): void {
    if (live && this.#waiting.size > 0) this.#deps.background.run(() => this.#claimNext('fallback'));
    this.rearm();
  }

  /** The server is being asked for a poll of this pool. `answered` does not reject. */
  asks(answered: Promise<void>): void {
    this.#asking = answered;
    void answered.then(() => {
      if (this.#asking === answered) this.#asking = undefined;
    });
  }

  async #onHint(hint: WorkHint): Promise<void> {
    const { granted, metrics, times } = this.#deps;
    if (this.#asking !== undefined && !granted.outdates(hint))
      await within(times.hintPatienceMs, this.#asking);
    if (granted.outdates(hint)) return metrics.hintsOutdated.inc();
    for (;;) {
      const waiter = this.#take() ?? (await this.#nextReady());
      if (waiter === undefined) return this.#returnHint(hint);
      const startedMs = this.#deps.clock.monotonicMs();
      const outcome = await this.#claim(waiter, hint.workId, 'hint');
      // A poll that left before or was refused says nothing about the item: the next one tries.
      if (outcome === 'refused' || outcome === undefined) continue;
      // Stale hints can stand in front of a fresh one by the thousand; any of them finds the fresh item.
      if (outcome === 'lost' && startedMs - this.#emptyMs > EMPTY_BELIEVED_MS) await this.#claimNext('next');
      return;
    }
  }

  /** Lets go of the pool first, so that the repeated hint reaches a gateway where somebody waits. */
  async #returnHint(hint: WorkHint): Promise<void> {
    this.#lingerUntilMs = 0;
    this.#adjustSubscription();
    this.#deps.metrics.hintsReturned.inc();
    try {
      await this.#deps.dispatch.returnHint({ workId: hint.workId });
    } catch (error) {
      // The relay hints again within a minute, and every poll that begins asks the server anyway.
      this.#deps.log.warn({ err: error, workId: hint.workId }, 'hint was not returned');
    }
  }

  /** Marks the longest waiting ready poll as claiming. */
  #take(except?: ReadonlySet<Waiter>): Waiter | undefined {
    for (const waiter of this.#waiting) {
      if (waiter.state !== 'ready' || except?.has(waiter)) continue;
      waiter.state = 'claiming';
      return waiter;
    }
    return undefined;
  }

  /** The next poll that becomes ready, marked as claiming; undefined when none does in time. */
  #nextReady(): Promise<Waiter | undefined> {
    if (this.#closed) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      const wake = (waiter: Waiter | undefined): void => {
        clearTimeout(timer);
        resolve(waiter);
      };
      const timer = setTimeout(() => {
        this.#hinted.splice(this.#hinted.indexOf(wake), 1);
        resolve(undefined);
      }, this.#deps.times.hintPatienceMs);
      this.#hinted.push(wake);
    });
  }

  #offerToHints(waiter: Waiter): void {
    const wake = this.#hinted.shift();
    if (wake === undefined) return;
    waiter.state = 'claiming';
    wake(waiter);
  }

  /** Claims without a hint for one poll after the other until the pool seems empty. Does not reject. */
  async #claimNext(via: 'next' | 'fallback'): Promise<void> {
    if (this.#claimingNext) return;
    this.#claimingNext = true;
    const tried = new Set<Waiter>();
    while (tried.size < TRIES_MAX) {
      const startedMs = this.#deps.clock.monotonicMs();
      const waiter = this.#take(tried);
      if (waiter === undefined) break;
      const outcome = await this.#claim(waiter, '', via);
      if (outcome === 'failed') break;
      if (outcome !== 'lost') continue;
      tried.add(waiter);
      this.#emptyMs = startedMs;
      this.#uncertain = false;
    }
    this.#claimingNext = false;
  }

  /** Undefined: the waiter was gone before the claim was sent. Does not reject. */
  async #claim(waiter: Waiter, workId: string, via: string): Promise<Outcome | undefined> {
    if (waiter.state !== 'claiming') return undefined;
    this.#askedMs = this.#deps.clock.monotonicMs();
    const outcome = await this.#tryClaim(waiter, workId);
    this.#deps.metrics.claims.inc({ via, outcome });
    if (outcome === 'lost') this.#release(waiter);
    if (outcome === 'failed') {
      this.#uncertain = true;
      this.#owner.askAgain(waiter);
      this.#retrySoon();
    }
    return outcome;
  }

  async #tryClaim(waiter: Waiter, workId: string): Promise<Outcome> {
    const { caller, kind, pollId } = waiter.ask;
    try {
      const { offer } = await this.#deps.dispatch.claim({
        caller,
        kind: workKind(kind),
        pollId,
        workId,
        poolId: this.#poolId,
      });
      if (offer === undefined) return 'lost';
      this.#owner.deliver(waiter, offer);
      return 'won';
    } catch (thrown) {
      const error = toApiError(thrown);
      if (!error.retryable) {
        this.#owner.refuse(waiter, error);
        return 'refused';
      }
      this.#deps.log.warn(
        { err: thrown, poolId: this.#poolId, workId },
        'claim failed; it is tried again without its hint',
      );
      return 'failed';
    }
  }

  /** It goes to the end: another one may be able to take what it could not. */
  #release(waiter: Waiter): void {
    if (waiter.state !== 'claiming') return;
    waiter.state = 'ready';
    if (waiter.late) return this.#owner.expire(waiter);
    this.#waiting.delete(waiter);
    this.#waiting.add(waiter);
    this.#offerToHints(waiter);
  }

  #retrySoon(): void {
    if (this.#closed || this.#waiting.size === 0) return;
    this.#askedMs = Number.NEGATIVE_INFINITY;
    this.#deps.wheel.arm(this, this.#deps.clock.monotonicMs() + RETRY_MS * (0.5 + this.#deps.random()));
  }
}

export function poolKey(poolId: string, kind: PollKind): string {
  return `${kind} ${poolId}`;
}

export function workKind(kind: PollKind): WorkKind {
  return kind === 'run' ? WorkKind.RUN : WorkKind.BUILD;
}
