/**
 * Hints of fresh items. The first one of a pool is sent at once; those that follow within a moment are gathered, and of them only the ones whose items nobody has
 * got by then are sent. In a busy pool most items are found by a poll that begins a few milliseconds after they came: their hints would cost the
 * broker, this process and a gateway a tenth of what the whole item costs, for nothing.
 *
 * A hint that is never sent, because the broker is down or this process ends, is sent by the relay: the row is its own outbox.
 */
import type { WorkHint, WorkQueue } from '@svc/proto/queue/queue.ts';

/** What a hint waits at most after the one before it in its pool. */
const GATHER_MS = 10;

export interface Hints {
  /** Best effort and without waiting. */
  submitted(hint: WorkHint): void;
  /** This process has granted the item. */
  granted(workId: string): void;
}

export interface HintsDeps {
  readonly queue: WorkQueue;
  /** A hint that was not published; the relay publishes it again. */
  onError(error: unknown): void;
}

export function createHints({ queue, onError }: HintsDeps): Hints {
  /** Gathered ones by pool and kind; there is an entry for `GATHER_MS` after a hint was sent. */
  const pools = new Map<string, WorkHint[]>();
  /** Items of gathered hints that nobody has got yet. */
  const waiting = new Set<string>();

  const send = (pool: string, hints: readonly WorkHint[]): void => {
    pools.set(pool, []);
    setTimeout(() => sendGathered(pool), GATHER_MS);
    if (queue.up) for (const hint of hints) queue.hint(hint).catch(onError);
  };
  const sendGathered = (pool: string): void => {
    const hints = (pools.get(pool) ?? []).filter(({ workId }) => waiting.delete(workId));
    if (hints.length === 0) pools.delete(pool);
    else send(pool, hints);
  };
  return {
    submitted: (hint) => {
      const pool = `${hint.kind} ${hint.poolId}`;
      const gathered = pools.get(pool);
      if (gathered === undefined) return send(pool, [hint]);
      gathered.push(hint);
      waiting.add(hint.workId);
    },
    granted: (workId) => void waiting.delete(workId),
  };
}
