/**
 * Every poll held by this gateway.
 *
 * A poll asks the server, which answers the open offer of the same poll id, grants a fresh item, or says
 * where the runner may receive work. Then it waits in its pool, which has it ask again when something is
 * hinted, until it has an offer, its time is up, its runner is revoked, its client is gone or the gateway
 * stops. This table owns every waiter; a waiter is in it exactly from `poll` until `#finish`, which answers
 * it once.
 *
 * What must hold: one waiter for each (runner, kind, poll id), the newest call; an offer belongs to its poll
 * id and is handed to whoever waits under it, so two calls of one poll id never get two offers.
 */
import type { AnswerOf, AskInit, Dispatch } from '@svc/proto/dispatch/dispatch.ts';
import { WorkKind, type Offer } from '@svc/proto/gen/svc/dispatch/v1/dispatch_pb.ts';
import { apiError, toApiError, type ApiError } from '@svc/proto/http/errors.ts';
import { inBatches } from '@svc/proto/process/batches.ts';
import { bounded } from '@svc/proto/process/bounded.ts';
import type { Logger } from 'pino';
import { Pool, poolKey, type AskOutcome, type PoolDeps, type PoolOwner } from './pool.ts';
import type { Nonce } from './verification.ts';
import { Waiter, type PollAsk, type PollKind } from './waiter.ts';
import { within } from './within.ts';

/** Polls of one runner held at once; the oldest gives way to a new one. */
const POLLS_PER_RUNNER_MAX = 16;
/**
 * A poll whose time is up waits so long for what is under way for it. That is below the second that answers
 * come early by.
 */
const LATE_ANSWER_MS = 500;
/** Asks that nobody told of, at once: what a broken broker may cost the database. */
const BACKGROUND_MAX = 16;
/** An ask whose outcome is unknown is repeated in about this time. */
const ASK_AGAIN_MS = 1_000;
/** Runners of which it is remembered that there was much for them; another one is asked for in two steps. */
const PLENTY_MAX = 10_000;

type FirstAsk = Exclude<AskInit<'poll'>, { readonly $typeName: string }>;

export type PollsDeps = Omit<PoolDeps, 'background' | 'order'> & {
  readonly dispatch: Pick<Dispatch, 'poll'>;
  readonly log: Logger;
};

export class Polls implements PoolOwner {
  readonly #deps: PollsDeps;
  readonly #poolDeps: PoolDeps;
  readonly #byRunner = new Map<string, Waiter[]>();
  #size = 0;
  readonly #pools = new Map<string, Pool>();
  /** Runners to whom their newest ask brought several items, and the pool of these. */
  readonly #plenty = new Map<string, string>();
  #order = 0;
  /** Polls of the current round of `reconsiderAll` that have not asked yet. */
  #reconsidering = 0;
  #stopping = false;
  #onEmpty: (() => void) | undefined;

  constructor(deps: PollsDeps) {
    this.#deps = deps;
    const background = inBatches<() => Promise<void>, void>({
      parallel: BACKGROUND_MAX,
      itemsMax: 1,
      waitingMax: Number.POSITIVE_INFINITY,
      overfull: Error,
      run: async (asks) => await Promise.all(asks.map(async (ask) => await ask())),
    });
    this.#poolDeps = { ...deps, background, order: () => (this.#order += 1) };
  }

  get size(): number {
    return this.#size;
  }

  /** This is the number of pools with polls or a subscription. */
  get poolCount(): number {
    return this.#pools.size;
  }

  /** Resolves with the offers, none for an empty answer; rejects with an ApiError. */
  poll(ask: PollAsk, nonce?: Nonce): Promise<readonly Offer[]> {
    if (this.#stopping || ask.call.aborted) return Promise.resolve([]);
    const waiter = new Waiter(ask, nonce);
    const older = this.#heldUnder(ask);
    // The client repeats a poll when it lost the connection of the first one: nobody reads that answer.
    if (older !== undefined) this.#finish(older, 'empty');
    this.#makeRoom(ask.caller.runnerId);
    this.#register(waiter);
    const holdMs = ask.untilMs - this.#deps.clock.monotonicMs();
    if (holdMs > 0) this.#arm(waiter, holdMs);
    else waiter.late = true;
    ask.call.onAborted = { handleAborted: () => this.#finish(waiter, 'gone') };
    void this.#ask(waiter);
    return waiter.promise;
  }

  /** Ends every poll of a runner with an error: it was revoked. */
  endRunner(runnerId: string, error: ApiError): void {
    for (const waiter of this.#byRunner.get(runnerId)?.slice() ?? []) this.#finish(waiter, error);
  }

  /**
   * Ends every poll of a kind with an error: its platform feature was switched off. An offer under way stands
   * for its poll id, as ever.
   */
  endKind(kind: PollKind, error: ApiError): void {
    for (const waiter of this.#all()) if (waiter.ask.kind === kind) this.#finish(waiter, error);
  }

  /** The runner may receive work now, or not any more: every poll of it asks again. */
  reconsider(runnerId: string): void {
    for (const waiter of this.#byRunner.get(runnerId)?.slice() ?? []) void this.#reconsider(waiter);
  }

  /**
   * Notices may have been missed: every held poll asks again, a few at a time. A broker that comes and goes
   * does not pile up rounds.
   */
  reconsiderAll(): void {
    if (this.#reconsidering > 0) return;
    for (const waiter of this.#all()) {
      this.#reconsidering += 1;
      void this.#poolDeps.background(async () => {
        await this.#reconsider(waiter);
        this.#reconsidering -= 1;
      });
    }
  }

  /** The broker came or went. */
  rearmPools(): void {
    for (const pool of this.#pools.values()) pool.rearm();
  }

  /**
   * Answers what waits, lets what is under way end within `graceMs`, then hears no more hints. No poll is
   * held any more.
   */
  async stop(graceMs: number): Promise<void> {
    this.#stopping = true;
    for (const waiter of this.#all()) {
      waiter.late = true;
      if (waiter.state !== 'asking') this.#finish(waiter, 'empty');
    }
    if (this.#size > 0) await within(graceMs, new Promise<void>((resolve) => (this.#onEmpty = resolve)));
    for (const waiter of this.#all()) this.#finish(waiter, 'empty');
    for (const pool of this.#pools.values()) pool.close();
    this.#pools.clear();
  }

  #arm(waiter: Waiter, ms: number): void {
    waiter.disarm = this.#deps.after(ms, () => {
      if (waiter.state !== 'asking' || waiter.late) return this.#finish(waiter, 'empty');
      waiter.late = true;
      this.#arm(waiter, LATE_ANSWER_MS);
    });
  }

  async askAgain(waiter: Waiter): Promise<AskOutcome> {
    return await this.#ask(waiter);
  }

  forget(pool: Pool): void {
    this.#pools.delete(pool.key);
  }

  #deliver(waiter: Waiter, offers: readonly Offer[]): void {
    const heir = waiter.state === 'done' ? this.#heldUnder(waiter.ask) : waiter;
    if (heir !== undefined) return this.#finish(heir, offers);
    const { caller, pollId } = waiter.ask;
    this.#deps.log.info(
      { runnerId: caller.runnerId, pollId },
      'poll left before its offer; it stands for the same poll id',
    );
  }

  /** Does not reject. */
  async #ask(waiter: Waiter): Promise<AskOutcome> {
    const { caller, kind, pollId, slots, notReady } = waiter.ask;
    const { nonce } = waiter;
    waiter.nonce = undefined;
    waiter.state = 'asking';
    waiter.asked = this.#poolDeps.order();
    const ask = {
      caller: nonce === undefined ? caller : { ...caller, nonce },
      kind: workKind(kind),
      pollId,
      slots,
      notReady: [...notReady],
    };
    try {
      if (waiter.ask.offersMax > 1) return await this.#askForMany(waiter, ask);
      const answer = await this.#deps.dispatch.poll(ask);
      return this.#answered(waiter, answer, answer.offer === undefined ? [] : [answer.offer]);
    } catch (error) {
      this.#deps.metrics.asks.inc({ outcome: 'failed' });
      if (waiter.state === 'asking') this.#failed(waiter, toApiError(error));
      return 'failed';
    }
  }

  /**
   * Asks for one item and, where that was not in vain, for more; at once where the ask before brought
   * several.
   */
  async #askForMany(waiter: Waiter, ask: FirstAsk): Promise<AskOutcome> {
    const { caller } = waiter.ask;
    const first = this.#deps.dispatch.poll(ask);
    const plentyAt = this.#plenty.get(caller.runnerId);
    const early = plentyAt === undefined ? undefined : this.#further(ask, waiter.ask, plentyAt);
    // The nonce may have been used by one of the others.
    const answer = await first.catch(async (error: unknown) => {
      if (early === undefined || (await early).length === 0) throw error;
      return await this.#deps.dispatch.poll({ ...ask, caller });
    });
    const { offer, poolId } = answer;
    const inVain = offer === undefined || early !== undefined;
    const further = (await (inVain ? early : this.#further({ ...ask, caller }, waiter.ask, poolId))) ?? [];
    if (further.length > 0) bounded(this.#plenty, PLENTY_MAX).set(caller.runnerId, poolId);
    else this.#plenty.delete(caller.runnerId);
    return this.#answered(waiter, answer, offer === undefined ? further : [offer, ...further]);
  }

  /**
   * Asks for what else the answer may bring, each under an id of its own that follows from the poll's: when
   * the answer gets lost, the same poll finds all of them again. Where other polls wait in the pool, it takes
   * one item and leaves the others to them. Does not reject: what is not answered stands for its id, too.
   */
  async #further(first: FirstAsk, ask: PollAsk, poolId: string): Promise<readonly Offer[]> {
    const count = Math.min(ask.offersMax, ask.slots) - 1;
    if (count <= 0 || ask.notReady.length > 0 || this.#isWaitedFor(poolId, ask)) return [];
    const answers = await Promise.allSettled(
      Array.from({ length: count }, async (_, at) =>
        this.#deps.dispatch.poll({ ...first, pollId: `${ask.pollId}+${at + 1}`, further: true }),
      ),
    );
    return answers.flatMap((answer) =>
      answer.status === 'fulfilled' && answer.value.offer !== undefined ? [answer.value.offer] : [],
    );
  }

  /** Polls of other runners wait for work of the pool. */
  #isWaitedFor(poolId: string, { caller, kind }: PollAsk): boolean {
    return this.#pools.get(poolKey(poolId, kind))?.isWaitedFor(caller.runnerId) === true;
  }

  #answered(waiter: Waiter, answer: AnswerOf<'poll'>, offers: readonly Offer[]): AskOutcome {
    const { ask } = waiter;
    const outcome = offers.length > 0 ? 'offer' : answer.waits ? 'unfit' : 'empty';
    this.#deps.metrics.asks.inc({ outcome });
    if (offers.length > 0) this.#deliver(waiter, offers);
    if (waiter.state !== 'asking') return outcome;
    const willing = answer.mayReceive && ask.slots > 0 && ask.notReady.length === 0;
    if (waiter.again && !waiter.late) {
      waiter.again = false;
      void this.#ask(waiter);
    } else if (waiter.late || !(willing || answer.hold)) this.#finish(waiter, 'empty');
    else this.#park(waiter, willing ? answer.poolId : undefined);
    return outcome;
  }

  /**
   * A poll that was held already outlives a moment without a server. Nobody knows whether the ask had its
   * effect: the open offer of the poll id has to be asked for.
   */
  #failed(waiter: Waiter, error: ApiError): void {
    // The runner is gone, and the cache of keys has not heard of it.
    if (error.code === 'key_unknown') return this.#finish(waiter, 'empty');
    if (waiter.poolId === undefined || waiter.late || !error.retryable) return this.#finish(waiter, error);
    waiter.pool?.remove(waiter);
    waiter.state = 'refused';
    const delayMs = ASK_AGAIN_MS * (0.5 + this.#deps.random());
    setTimeout(() => void this.#poolDeps.background(() => this.#reconsider(waiter)), delayMs).unref();
  }

  /** @param poolId Where the runner may receive work; undefined: nowhere now. */
  #park(waiter: Waiter, poolId: string | undefined): void {
    waiter.state = poolId === undefined ? 'refused' : 'ready';
    waiter.poolId = poolId;
    const pool = poolId === undefined ? undefined : this.#poolOf(poolId, waiter.ask.kind);
    if (waiter.pool !== pool) waiter.pool?.remove(waiter);
    pool?.add(waiter);
  }

  /** What is under way is left alone: it is followed by another ask. Does not reject. */
  async #reconsider(waiter: Waiter): Promise<void> {
    if (waiter.state === 'done') return;
    if (waiter.state === 'asking') waiter.again = true;
    else await this.#ask(waiter);
  }

  #poolOf(poolId: string, kind: PollKind): Pool {
    const key = poolKey(poolId, kind);
    let pool = this.#pools.get(key);
    if (pool === undefined) {
      pool = new Pool({ poolId, kind }, this, this.#poolDeps);
      this.#pools.set(key, pool);
    }
    return pool;
  }

  #all(): Waiter[] {
    return [...this.#byRunner.values()].flat();
  }

  /** The poll that waits under the same id. */
  #heldUnder({ caller, kind, pollId }: PollAsk): Waiter | undefined {
    return this.#byRunner.get(caller.runnerId)?.find(({ ask }) => ask.pollId === pollId && ask.kind === kind);
  }

  #makeRoom(runnerId: string): void {
    const held = this.#byRunner.get(runnerId);
    if (held === undefined || held.length < POLLS_PER_RUNNER_MAX) return;
    for (const waiter of held) {
      if (waiter.state !== 'asking') return this.#finish(waiter, 'empty');
    }
    throw apiError(
      'rate_limited',
      `runner has ${held.length} polls under way, limit ${POLLS_PER_RUNNER_MAX}; wait for their answers`,
      {
        retryAfterMs: 1_000,
      },
    );
  }

  #register(waiter: Waiter): void {
    const { runnerId } = waiter.ask.caller;
    const held = this.#byRunner.get(runnerId);
    if (held === undefined) this.#byRunner.set(runnerId, [waiter]);
    else held.push(waiter);
    this.#size += 1;
    this.#deps.metrics.parked.set(this.#size);
  }

  #finish(waiter: Waiter, outcome: readonly Offer[] | ApiError | 'empty' | 'gone'): void {
    if (waiter.state === 'done') return;
    waiter.state = 'done';
    this.#deregister(waiter);
    const { kind } = waiter.ask;
    const { polls } = this.#deps.metrics;
    if (outcome instanceof Error) {
      polls.inc({ kind, outcome: outcome.code });
      waiter.reject(outcome);
    } else if (typeof outcome === 'string') {
      polls.inc({ kind, outcome });
      waiter.resolve([]);
    } else {
      polls.inc({ kind, outcome: 'offer' }, outcome.length);
      waiter.resolve(outcome);
    }
    if (this.#size === 0) this.#onEmpty?.();
  }

  #deregister(waiter: Waiter): void {
    const { runnerId } = waiter.ask.caller;
    waiter.pool?.remove(waiter);
    waiter.disarm();
    waiter.ask.call.onAborted = undefined;
    const held = this.#byRunner.get(runnerId) ?? [];
    held.splice(held.indexOf(waiter), 1);
    if (held.length === 0) this.#byRunner.delete(runnerId);
    this.#size -= 1;
    this.#deps.metrics.parked.set(this.#size);
  }
}

export function workKind(kind: PollKind): WorkKind {
  return kind === 'run' ? WorkKind.RUN : WorkKind.BUILD;
}
