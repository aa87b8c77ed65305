/**
 * What the provider told of, and what is to be looked at again, one row each:
 *
 *     waiting ──claimed──> at work ──done, with its effects──> done
 *        ^                    │
 *        └──failed, or lost───┘
 *
 * One event of a lane, which is a customer, is at work at a time, so that no older reading of an object
 * overwrites a newer one. An event says only which object to read, so that their order does not matter. A
 * claim ends by itself; what its worker does then comes to nothing, because `attempts` has moved on.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { Database, SqlTag } from '../../base/db/index.ts';
import { ms } from '../../base/sql.ts';

/** The events of a worker that died are free within a minute; one that lives renews them. */
const LEASE_MS = 45_000;
export const RENEW_EVERY_MS = 11_000;
const BACKOFF_MS = 2_000;
const BACKOFF_MS_MAX = 600_000;
const ERROR_MAX = 500;
/** Events that are done are kept for so long. The provider sends none again after three days. */
const KEPT_MS = 90 * 24 * 60 * 60_000;

export interface NewEvent {
  /** The provider's, or one that says what is to be looked at, and when. */
  readonly id: string;
  readonly type: string;
  readonly lane: string;
  readonly objectId: string;
}

export interface ClaimedEvent extends NewEvent {
  readonly attempts: number;
}

/** Returns how many were not known yet. */
export async function addEvents(sql: SqlTag, events: readonly NewEvent[]): Promise<number> {
  const column = (of: keyof NewEvent) => events.map((event) => event[of]);
  const rows = await sql`
    insert into billing_events (id, type, lane, object_id, received_at, due_at)
    select e.id, e.type, e.lane, e.object_id, now(), now()
    from unnest(${column('id')}::text[], ${column('type')}::text[], ${column('lane')}::text[], ${column('objectId')}::text[])
      as e (id, type, lane, object_id)
    on conflict (id) do nothing returning 1`;
  return rows.length;
}

/**
 * Due events, the oldest of each lane that has none at work. One at work has a time ahead of it and no error;
 * one that waits to be tried again has both. Workers take turns for the moment of a claim: only then does
 * each see every claim before its own.
 */
export async function claimEvents(db: Database, take: number): Promise<readonly ClaimedEvent[]> {
  return await db.transact(async ({ sql }) => {
    await sql`select pg_advisory_xact_lock(hashtextextended('billing_events', 0))`;
    return await sql<ClaimedEvent[]>`
      with busy as (
        select lane from billing_events where done_at is null and due_at > now() and last_error is null
      ), mine as (
        select e.id from (
          select distinct on (lane) id, lane, due_at from billing_events
          where done_at is null and due_at <= now() and lane not in (select lane from busy) order by lane, received_at, id
        ) e order by e.due_at limit ${take}::int
      ), free as (
        select id from billing_events where id = any(array(select id from mine)) and done_at is null for no key update skip locked
      )
      update billing_events e set attempts = e.attempts + 1, last_error = null, due_at = now() + ${ms(sql, LEASE_MS)}
      where e.id = any(array(select id from free))
      returning e.id, e.type, e.lane, e.object_id as "objectId", e.attempts`;
  });
}

/** Nothing happens to one whose claim is another worker's by now. */
export async function renewEvent(sql: SqlTag, { id, attempts }: ClaimedEvent): Promise<void> {
  await sql`
    update billing_events set due_at = now() + ${ms(sql, LEASE_MS)}
    where id = ${id} and attempts = ${attempts} and done_at is null and last_error is null`;
}

/**
 * This ends an event in the transaction of its effects. Returns false when another worker has the claim by
 * now; then nothing may be done.
 */
export async function finishEvent(sql: SqlTag, { id, attempts }: ClaimedEvent): Promise<boolean> {
  const rows = await sql`
    update billing_events set done_at = now(), last_error = null where id = ${id} and attempts = ${attempts} and done_at is null returning 1`;
  return rows.length > 0;
}

export async function returnEvent(sql: SqlTag, { id, attempts }: ClaimedEvent, error: string): Promise<void> {
  const waitMs = Math.min(BACKOFF_MS * 2 ** Math.min(attempts - 1, 20), BACKOFF_MS_MAX);
  await sql`
    update billing_events set last_error = ${error.slice(0, ERROR_MAX)}, due_at = now() + ${ms(sql, waitMs)}
    where id = ${id} and attempts = ${attempts} and done_at is null`;
}

export async function purgeEvents(sql: SqlTag): Promise<void> {
  await sql`delete from billing_events where done_at < now() - ${ms(sql, KEPT_MS)}`;
}
