/**
 * Publishes events that were written with their cause: each feature's effects (usage of the day,
 * notifications, deliveries of webhooks) and the end of the event are one statement: each is published once,
 * by whichever worker comes first, and those who report work pay for nothing of it. A mark in its row would
 * cost as much as the deletion, and the deletion later besides.
 *
 * One event that one effect cannot take fails that statement for all teams. So the effects are taken apart
 * then (apart.ts), and for a while: whatever it was, more of its kind is likely on its way, and each attempt
 * in common would be in vain and as dear as one that succeeds.
 */
import { isRefusal, isRetryable, type SqlTag } from '../../base/db/index.ts';
import type { EventEffect } from '../feature.ts';
import { APART_BATCH, publishApart } from './apart.ts';
import type { EffectsDeps, Pass } from './attempt.ts';

const BATCH = 500;
const APART_FOR_MS = 30_000;
/** A lock or a deadlock is over with the next attempt, most likely. */
const ATTEMPTS = 3;

export interface PublishDeps {
  readonly sql: SqlTag;
  readonly effects: readonly EventEffect[];
  /** The most events that are published in one statement. */
  readonly batch?: number;
}

/** Returns how many events were published. */
export async function publish({ sql, effects, batch = BATCH }: PublishDeps): Promise<number> {
  const [row] = await sql<Array<{ count: number }>>`
    with due as (
      select o.id from outbox o order by o.created_at limit ${batch}::int for update skip locked
    ),
    published as (
      delete from outbox o using due d where o.id = d.id
      returning o.id, o.team_id, o.kind, o.dedupe_key, o.payload, o.created_at
    )${effects.reduce((before, effect) => sql`${before}, ${effect(sql)}`, sql``)}
    select count(*)::int as count from published`;
  return row?.count ?? 0;
}

/**
 * Publishes in common as long as that succeeds. State: until when it is not tried, and how often it was
 * refused for now.
 */
export function createPublisher(deps: EffectsDeps): () => Promise<Pass> {
  const { db, effects, onError } = deps;
  let apartUntil = Number.NEGATIVE_INFINITY;
  let refused = 0;
  const inCommon = async (): Promise<Pass> => {
    const count = await publish({ sql: db.sql, effects });
    refused = 0;
    return { count, isMore: count === BATCH };
  };
  const apart = async (): Promise<Pass> => {
    const count = await publishApart(deps);
    return { count, isMore: count === APART_BATCH };
  };
  return async () => {
    if (performance.now() < apartUntil) return await apart();
    try {
      return await inCommon();
    } catch (cause) {
      if (!isRefusal(cause) || (isRetryable(cause) && (refused += 1) < ATTEMPTS)) throw cause;
      refused = 0;
      apartUntil = performance.now() + APART_FOR_MS;
      onError(
        new Error('the effects of events are done apart for a while, because together they failed', {
          cause,
        }),
      );
      return await apart();
    }
  };
}
