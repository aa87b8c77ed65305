/**
 * Publishes events that were written with their cause: adds ended work to its day's usage, tells people, makes the deliveries of webhooks. All of it
 * and the mark are one statement: each event is published once, by whichever worker comes first, and those who report work pay for
 * nothing of it.
 */
import { notified } from '../notifications/index.ts';
import type { SqlTag } from '../platform/db/index.ts';
import { newId } from '../platform/ids.ts';
import { counted } from '../usage/index.ts';
import { deliveriesMade } from '../webhook-endpoints/index.ts';
import { startLoop } from '../work/index.ts';
import type { Loop } from '../work/index.ts';

/** Often, so that a busy second is not published in one piece that holds a core of the database up. */
const EVERY_MS = 250;
const BATCH = 500;
const KEPT_MS = 7 * 24 * 60 * 60_000;

/** Returns how many events were published. */
export async function publish(sql: SqlTag, batch = BATCH): Promise<number> {
  const [row] = await sql<Array<{ count: number }>>`
    with due as (
      select o.id from outbox o where o.published_at is null
      order by o.created_at limit ${batch}::int for update skip locked
    ),
    published as (
      update outbox o set published_at = now() from due d where o.id = d.id
      returning o.id, o.team_id, o.kind, o.dedupe_key, o.payload, o.created_at
    ),
    ${counted(sql)},
    ${notified(sql)},
    ${deliveriesMade(sql)}
    select count(*)::int as count from published`;
  return row?.count ?? 0;
}

export interface OutboxDeps {
  readonly sql: SqlTag;
  onError(error: unknown): void;
}

export function startOutbox({ sql, onError }: OutboxDeps): Loop {
  return startLoop({ everyMs: EVERY_MS, onError, run: async () => (await publish(sql)) === BATCH });
}

/** Published a week ago and longer; the ids sort by time. */
export async function purgeOutbox(sql: SqlTag, nowMs: number): Promise<number> {
  const { count } = await sql`
    delete from outbox where id < ${newId('evt', nowMs - KEPT_MS)} and published_at < now() - interval '1 day'`;
  return count;
}
