/**
 * When a submit has to count the team's waiting items. Counting costs as much as the queue is long, so one
 * submit a second and team does it, and the others go by its count and what was added here since; near the
 * limit every submit counts. The limit protects the database, it is no promise: several servers together may
 * pass it by what they take in within that second.
 */
import { bounded } from '@svc/proto/process/bounded.ts';
export interface QueueRoom {
  /** Returns true when this submit counts. */
  mustCount(queue: string): boolean;
  /**
   * A submit has counted, before it added its own item. `sinceMs` is the time at which it began: what was
   * heard of since may not be in its count.
   */
  counted(
    queue: string,
    of: { readonly count: number; readonly limit: number; readonly sinceMs: number },
  ): void;
  /** An item was added. */
  added(queue: string): void;
}

const COUNT_EVERY_MS = 1_000;
/** Queues remembered; the oldest count goes first. */
const QUEUES_MAX = 10_000;

export function createQueueRoom(nowMs: () => number): QueueRoom {
  const known = new Map<string, { count: number; readonly limit: number; readonly atMs: number }>();
  return {
    mustCount: (queue) => {
      const seen = known.get(queue);
      return seen === undefined || seen.count >= seen.limit || nowMs() - seen.atMs >= COUNT_EVERY_MS;
    },
    counted: (queue, { count, limit, sinceMs }) => {
      const seen = known.get(queue);
      known.delete(queue);
      const most = seen !== undefined && seen.atMs > sinceMs ? Math.max(seen.count, count) : count;
      bounded(known, QUEUES_MAX).set(queue, { count: most, limit, atMs: nowMs() });
    },
    added: (queue) => {
      const seen = known.get(queue);
      if (seen !== undefined) seen.count += 1;
    },
  };
}
