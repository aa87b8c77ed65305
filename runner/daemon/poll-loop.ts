/**
 * This is the poller of one kind of work; a process has one for each.
 *
 *   take a slot → poll (the same pollId until it is answered) → offers: hand over each with a slot → take
 *   the next slot
 *                                                            ↘ empty: give the slot back, go on
 *
 * A lost answer loses nothing: the repetition carries the same id and gets the same offer. Two ends: `stop`
 * lets the poll under way come to its end for a moment before it is cut; an offer that arrives after it is
 * left alone, and goes back to the queue after 15 s without counting as an attempt.
 *
 */
import { randomUUID } from 'node:crypto';
import type { Api } from '../control-plane/api.ts';
import { nextDelayMs, unservedDelayMs } from '../control-plane/backoff.ts';
import { monotonicMs, pause } from '../platform/clock.ts';
import { LEASES_MAX } from '../control-plane/lease-book.ts';
import type { Log } from '../platform/log.ts';
import type { Presence } from '../control-plane/presence.ts';
import { CallError, type Failure, type FinalRefusal } from '../control-plane/retryable.ts';
import type { Slots } from '../work/slots.ts';
import {
  WORK_CALLS,
  type BuildOffer,
  type PollReply,
  type RunOffer,
  type WorkKind,
} from '../control-plane/wire.ts';
import type { WorkRef } from '../control-plane/work-ref.ts';

/** A held poll may take so much longer than asked for. */
const HOLD_SLACK_MS = 10_000;
/** Time for the server to end a held poll after a heartbeat said that this runner drains. */
const LAST_POLL_MS = 2_000;
/** Empty answers that come early (paused, flagged, not ready) are spaced out, up to this. */
const EARLY_PAUSE_MS_MAX = 5_000;
/** After an unexplained refusal the poller waits so long. */
const REFUSED_PAUSE_MS = 30_000;
/** Runs that one poll may bring. */
const OFFERS_MAX = 32;

/** The offer that answers each kind of poll. */
export interface Offers {
  run: RunOffer;
  build: BuildOffer;
}

export interface PollLoopOptions<K extends WorkKind = 'run'> {
  kind: K;
  api: Pick<Api, 'call'>;
  bootId: string;
  slots: Slots;
  held: () => WorkRef[];
  /** Called before each poll; returns the reasons why no work can be taken, one sentence each. */
  notReady: () => Promise<string[]>;
  waitMs: () => number;
  /** Resolves when the work has ended and its slot is free. Never rejects. */
  onOffer: (offer: Offers[K]) => Promise<void>;
  onFatal: (refusal: FinalRefusal) => void;
  onNotReady: (reasons: string[]) => void;
  presence: Pick<Presence, 'unserved' | 'served' | 'pause'>;
  stop: AbortSignal;
  log: Log;
  random?: () => number;
}

/** Resolves when the poller has ended; work that it handed over may go on. */
export async function runPollLoop<K extends WorkKind>(options: PollLoopOptions<K>): Promise<void> {
  const random = options.random ?? Math.random;
  const cut = new AbortController();
  options.stop.addEventListener('abort', () => void pause(LAST_POLL_MS, cut.signal).then(() => cut.abort()), {
    once: true,
  });
  let early = 0;
  while (await options.slots.take(options.stop)) {
    const answer = await pollUntilAnswered(options, cut.signal);
    if (answer === 'end') break;
    const [first, ...further] = answer.offers;
    if (first !== undefined && !options.stop.aborted) {
      early = 0;
      // It is polled for no more than there are free slots, and nobody else takes one.
      for (const offer of [first, ...further.filter(() => options.slots.takeFree())])
        void options.onOffer(offer).finally(() => options.slots.release());
      continue;
    }
    options.slots.release();
    early = answer.early ? early + 1 : 0;
    if (early > 0)
      await pause(random() * Math.min(1_000 * 2 ** (early - 1), EARLY_PAUSE_MS_MAX), options.stop);
  }
  cut.abort();
}

interface PollAnswer<K extends WorkKind> {
  offers: Array<Offers[K]>;
  /** The answer was empty and came long before the time that was asked for. */
  early: boolean;
}

async function pollUntilAnswered<K extends WorkKind>(
  options: PollLoopOptions<K>,
  signal: AbortSignal,
): Promise<PollAnswer<K> | 'end'> {
  const pollId = randomUUID();
  let unserved = 0;
  for (let failures = 1; !options.stop.aborted; failures += 1) {
    const waitMs = options.waitMs();
    const begunMs = monotonicMs();
    try {
      const notReady = await options.notReady();
      options.onNotReady(notReady);
      const { value, sentMonotonicMs } = await options.api.call(
        WORK_CALLS[options.kind].poll,
        {
          pollId,
          waitMs,
          slots: options.slots.free + 1,
          ...(options.kind === 'run' ? { offersMax: Math.min(options.slots.free + 1, OFFERS_MAX) } : {}),
          leases: options
            .held()
            .slice(0, LEASES_MAX)
            .map(({ id, epoch }) => ({ id, epoch })),
          ...(notReady.length > 0 ? { notReady } : {}),
          bootId: options.bootId,
        },
        { signal, timeoutMs: waitMs + HOLD_SLACK_MS },
      );
      options.presence.served(sentMonotonicMs);
      if (failures - unserved > 1) options.log.info({ failures: failures - unserved - 1 }, 'polling again');
      const early = monotonicMs() - begunMs < waitMs / 2;
      const { [options.kind]: offer, more } = value as Partial<Record<WorkKind, unknown> & PollReply>;
      if (offer === undefined || offer === null) return { offers: [], early };
      return { offers: [offer, ...(more?.runs ?? [])] as Array<Offers[K]>, early: false };
    } catch (error) {
      if (!(error instanceof CallError)) throw error;
      if (error.failure.unserved === true) {
        unserved += 1;
        const delayMs = unservedDelayMs(unserved, { random: options.random ?? Math.random });
        options.presence.unserved('poll', delayMs);
        await options.presence.pause(delayMs, options.stop);
        continue;
      }
      if (!(await afterFailure(options, error.failure, failures - unserved))) return 'end';
    }
  }
  return 'end';
}

/** False when polling is over. */
async function afterFailure<K extends WorkKind>(
  options: PollLoopOptions<K>,
  failure: Failure,
  failures: number,
): Promise<boolean> {
  switch (failure.verdict) {
    case 'revoked':
    case 'boot_superseded':
      options.onFatal({ verdict: failure.verdict, message: failure.message });
      return false;
    case 'aborted':
      return false;
    case 'refused':
      options.log.error({ problem: failure.message }, 'the poll was refused, trying again later');
      await pause(REFUSED_PAUSE_MS, options.stop);
      return true;
    case 'retry':
    case 'skew':
      // The outage is noted at its beginning and its end, not at every try.
      if (failures === 1) options.log.warn({ problem: failure.message }, 'poll failed, trying again');
      await pause(nextDelayMs(failures, failure.retryAfterMs), options.stop);
      return true;
  }
}
