/**
 * Hints of fresh items. Of each pool one is under way at a time: while its item has no runner yet, those that follow are gathered for a moment, and of them only the
 * ones whose items nobody has got by then are sent. In a busy pool most items are found by a poll that begins a few milliseconds after they
 * came: their hints would cost the broker, this process and a gateway a tenth of what the whole item costs, for nothing.
 *
 * A hint that is never sent, because the broker is down or this process ends, is sent by the relay: the row is its own outbox.
 */
import type { WorkHint, WorkQueue } from '@svc/proto/queue/queue.ts';

/** The longest time that a hint waits after the one before it in its pool. */
const GATHER_MS = 20;

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

/** A pool that was hinted less than `GATHER_MS` ago. Items leave both when they are granted. */
interface Recent {
  readonly hinted: Set<string>;
  readonly gathered: Map<string, WorkHint>;
}

export function createHints({ queue, onError }: HintsDeps): Hints {
  const pools = new Map<string, Recent>();
  /** Index of each item of `pools`. */
  const places = new Map<string, Recent>();

  const send = (pool: string, hints: readonly WorkHint[]): void => {
    const recent: Recent = { hinted: new Set(), gathered: new Map() };
    pools.set(pool, recent);
    for (const hint of hints) {
      recent.hinted.add(hint.workId);
      places.set(hint.workId, recent);
      if (queue.up) queue.hint(hint).catch(onError);
    }
    setTimeout(() => end(pool, recent), GATHER_MS);
  };
  const end = (pool: string, recent: Recent): void => {
    for (const workId of recent.hinted) places.delete(workId);
    if (pools.get(pool) !== recent) return;
    if (recent.gathered.size === 0) pools.delete(pool);
    else send(pool, [...recent.gathered.values()]);
  };
  return {
    submitted: (hint) => {
      const pool = `${hint.kind} ${hint.poolId}`;
      const recent = pools.get(pool);
      if (recent === undefined || recent.hinted.size + recent.gathered.size === 0) return send(pool, [hint]);
      recent.gathered.set(hint.workId, hint);
      places.set(hint.workId, recent);
    },
    granted: (workId) => {
      const recent = places.get(workId);
      if (recent === undefined) return;
      places.delete(workId);
      recent.hinted.delete(workId);
      recent.gathered.delete(workId);
    },
  };
}
