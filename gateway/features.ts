/**
 * This file follows the gates of platform features for a gateway that is a process of its own: it asks the
 * servers (WatchFeatures) over and over and keeps the last answer as long as none answers.
 *
 * What must hold: the process's own RUNNERS_ENABLED closes the gates whatever servers say, and is all there
 * is to go by before the first answer. A server that lags behind another one must not turn an answer back: of
 * two answers the later revision counts, unless the older one is all that has been heard for a while (a
 * restored database begins to count anew).
 *
 */
import type { Dispatch } from '@svc/proto/dispatch/dispatch.ts';
import type { Gate } from '@svc/proto/http/call.ts';
import { toApiError } from '@svc/proto/http/errors.ts';
import type { RpcInfo } from '@svc/proto/http/rpc.ts';
import type { Logger } from 'pino';
import type { Clock } from '@svc/proto/process/clock.ts';
import { waitUntil } from '@svc/proto/process/wait.ts';
import { within } from './within.ts';

/** Between two questions, so that servers that disagree are not asked in a tight loop. */
const PACE_MS = 100;
/** After a failure, with jitter: the dispatch client passes over servers that are down for as long. */
const RETRY_MS = 500;
/**
 * An earlier revision is taken for a server that lags for so long after a later one. Servers follow each
 * other within a second.
 */
const LAG_MS = 5_000;

export interface FollowerOptions {
  readonly dispatch: Pick<Dispatch, 'watchFeatures'>;
  /** RUNNERS_ENABLED of this process. */
  readonly enabled: boolean;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random?: () => number;
}

interface Answer {
  readonly revision: string;
  readonly disabled: ReadonlySet<string>;
  readonly hidden: ReadonlySet<string>;
}

export function followFeatures(options: FollowerOptions) {
  const { dispatch, enabled, clock, log, random = Math.random } = options;
  const stopping = new AbortController();
  const listeners = new Set<() => void>();
  let last: Answer | undefined;
  let heardMs = 0;
  let failing = false;
  let onFirst = (): void => undefined;
  const first = new Promise<void>((resolve) => (onFirst = resolve));

  const take = (next: Answer): void => {
    if (stopping.signal.aborted) return;
    const nowMs = clock.monotonicMs();
    const lags = last !== undefined && switchesOf(next) < switchesOf(last) && nowMs - heardMs < LAG_MS;
    if (lags) return;
    heardMs = nowMs;
    const changed = last?.revision !== next.revision;
    last = next;
    onFirst();
    if (!changed) return;
    log.info({ disabled: [...next.disabled], hidden: [...next.hidden] }, 'platform features that are off');
    for (const listener of listeners) listener();
  };

  const ask = async (): Promise<number> => {
    try {
      const { revision, disabled, hidden } = await dispatch.watchFeatures({ revision: last?.revision ?? '' });
      failing = false;
      take({ revision, disabled: new Set(disabled), hidden: new Set(hidden) });
      return PACE_MS;
    } catch (error) {
      if (!failing && !stopping.signal.aborted)
        log.warn(
          { code: toApiError(error).code },
          'no server says how platform features stand; the last word counts',
        );
      failing = true;
      return RETRY_MS * (0.5 + random());
    }
  };

  void (async () => {
    while (!stopping.signal.aborted) await waitUntil(await ask(), stopping.signal);
  })();

  return {
    gate: ({ feature }: RpcInfo): Gate => {
      if (!enabled) return 'hidden';
      if (feature === undefined || last === undefined) return 'open';
      if (last.hidden.has(feature)) return 'hidden';
      return last.disabled.has(feature) ? 'disabled' : 'open';
    },
    /** The listener is called after each change. Returns the function that ends it. */
    onChange: (listener: () => void) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    /** It resolves with the first answer, or after `ms` without one. */
    first: async (ms: number) => await within(ms, first),
    /**
     * Does not wait for the question that is under way: it takes up to a second, and nobody hears of its
     * answer any more.
     */
    stop: () => stopping.abort(),
  };
}

export type FeatureFollower = ReturnType<typeof followFeatures>;

/** Returns the number with which a revision begins: it grows with each change of a switch. */
function switchesOf({ revision }: Answer): number {
  return Number.parseInt(revision, 10) || 0;
}
