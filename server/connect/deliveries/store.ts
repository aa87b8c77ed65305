/**
 * The list of deliveries, and the queue of those that are to be read. Ids sort by time. What is due is
 * decided by the database's clock alone.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import { and, desc, eq, getTableColumns, lt, ne, sql, type SQL } from 'drizzle-orm';
import type { Database, SqlTag } from '../../base/db/index.ts';
import { newId } from '../../base/ids.ts';
import type { JoinedRuns } from '../runs/index.ts';
import { ciDeliveries } from './schema.ts';

type Row = typeof ciDeliveries.$inferSelect;

/** It is a delivery without what it is read by. */
export interface Delivery extends Omit<Row, 'body' | 'headers' | 'attempts' | 'dueAt'> {
  /** Length of its body. */
  readonly bytes: number;
}

const KEPT_MS = 30 * 24 * 60 * 60_000;

const {
  body,
  headers: _headers,
  attempts: _attempts,
  dueAt: _dueAt,
  ...shown
} = getTableColumns(ciDeliveries);
const { id, connectionId: connection, state, receivedAt } = shown;

/** Reads deliveries, newest first. */
const select = ({ orm }: Database, where: SQL | undefined, order = desc(id)) =>
  orm
    .select({ ...shown, bytes: sql<number>`octet_length(${body})` })
    .from(ciDeliveries)
    .where(where)
    .orderBy(order);

/** As the index of a connection's deliveries has them. */
const NEWEST = sql`${id} desc nulls last`;

const behind = (after: string | undefined): SQL | undefined =>
  after === undefined ? undefined : lt(id, after);

/** Reads deliveries, newest first. `after` is the last one of the page before. */
export async function listDeliveries(
  db: Database,
  { connectionId, take, after }: { connectionId: string; take: number; after: string | undefined },
): Promise<readonly Delivery[]> {
  return await select(db, and(eq(connection, connectionId), behind(after)), NEWEST).limit(take);
}

export interface AllQuery {
  readonly take: number;
  readonly after: string | undefined;
  readonly connectionId: string | undefined;
  readonly state: Delivery['state'] | undefined;
}

/** Reads the deliveries of all teams. */
export async function listAllDeliveries(
  db: Database,
  { take, after, connectionId, state: wanted }: AllQuery,
): Promise<readonly Delivery[]> {
  // The failed ones have an index of their own, which a parameter would hide.
  const ofState = wanted === 'failed' ? sql`${state} = 'failed'` : wanted && eq(state, wanted);
  const ofConnection = connectionId === undefined ? undefined : eq(connection, connectionId);
  return await select(db, and(behind(after), ofConnection, ofState)).limit(take);
}

/** Reads the newest deliveries of several connections, each by its own part of the index. */
export async function newestDeliveries(
  db: Database,
  connectionIds: readonly string[],
  take: number,
): Promise<readonly Delivery[]> {
  const newest = sql`${id} in (
    select n.id from unnest(${sql.param([...connectionIds])}::text[]) as c (id)
    cross join lateral (
      select d.id from ci_deliveries d where d.connection_id = c.id order by d.id desc nulls last limit ${take}
    ) n)`;
  return await select(db, newest).limit(take);
}

/** Has a delivery read again, as if it had just come; one that waits or is being read is left as it is. */
export async function readAgain(db: Database, deliveryId: string): Promise<Delivery | undefined> {
  await db.orm
    .update(ciDeliveries)
    .set({ state: 'received', detail: null, attempts: 0, dueAt: sql`now()`, processedAt: null })
    .where(and(eq(id, deliveryId), ne(state, 'received')));
  return (await select(db, eq(id, deliveryId)))[0];
}

/** Rows of one statement; a longer backlog takes several. */
const PURGE_BATCH = 1_000;

/** Deletes deliveries that are over and older than 30 days. */
export async function purgeCiDeliveries(sql: SqlTag, nowMs: number): Promise<number> {
  let purged = 0;
  for (let batch = PURGE_BATCH; batch === PURGE_BATCH; purged += batch) {
    const { count } = await sql`
      delete from ci_deliveries where id in (
        select id from ci_deliveries where id < ${newId('ciw', nowMs - KEPT_MS)} and state <> 'received' order by id limit ${PURGE_BATCH}
      )`;
    batch = count;
  }
  return purged;
}

export interface TakenDelivery {
  readonly id: string;
  readonly connectionId: string;
  readonly event: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** Count of the readings that were begun, with this one. */
  readonly attempts: number;
}

/** A reader that has not ended its work for so long is dead. */
const CLAIM_MS = 15_000;
const TAKE_MAX = 100;
/**
 * Limit of the bodies that a pass holds in memory; at least one delivery, however large. More would hold up
 * the door while the driver decodes it.
 */
const TAKE_BYTES_MAX = 2 * 1024 * 1024;

/** Takes the deliveries that are due, the longest waiting first, each for one reader alone. */
export async function takeDueDeliveries(sql: SqlTag): Promise<readonly TakenDelivery[]> {
  const taken = await sql<TakenDelivery[]>`
    with due as (
      select id, due_at, octet_length(body) as bytes from ci_deliveries
      where due_at <= now() order by due_at limit ${TAKE_MAX}::int for no key update skip locked
    ), mine as (
      select id from (select id, sum(bytes) over (order by due_at, id) - bytes as before from due) d
      where d.before < ${TAKE_BYTES_MAX}::int
    )
    update ci_deliveries d set due_at = now() + ${CLAIM_MS}::float8 * interval '1 ms', attempts = d.attempts + 1
    from mine where d.id = mine.id
    returning d.id, d.connection_id as "connectionId", d.event, d.headers, d.body, d.attempts`;
  // The first of two endings of one delivery counts, and an update answers in any order.
  return [...taken].sort((a, b) => (a.id < b.id ? -1 : 1));
}

export interface Ending {
  readonly id: string;
  readonly state: Exclude<Delivery['state'], 'received'>;
  readonly event?: string | null | undefined;
  readonly detail?: string | undefined;
  readonly changed?: string | undefined;
  readonly runId?: string | undefined;
}

/** The change of the first reading stays, since a delivery that is read again changes nothing. */
export async function endDeliveries(sql: SqlTag, endings: readonly Ending[]): Promise<void> {
  if (endings.length === 0) return;
  const text = (pick: (ending: Ending) => string | null | undefined) =>
    endings.map((one) => pick(one) ?? null);
  await sql`
    update ci_deliveries d set state = e.state, event = coalesce(d.event, e.event), detail = e.detail, run_id = e.run_id,
      changed = case when e.changed like 'nothing%' then coalesce(d.changed, e.changed) else e.changed end,
      due_at = null, processed_at = case when e.state = 'held' then null else now() end
    from unnest(${text(({ id }) => id)}::text[], ${text(({ state }) => state)}::text[], ${text(({ event }) => event)}::text[],
      ${text(({ detail }) => detail)}::text[], ${text(({ changed }) => changed)}::text[], ${text(({ runId }) => runId)}::text[])
      as e (id, state, event, detail, changed, run_id)
    where d.id = e.id`;
}

export async function postpone({ orm }: Database, deliveryId: string, waitMs: number): Promise<void> {
  await orm
    .update(ciDeliveries)
    .set({ dueAt: sql`now() + ${waitMs}::float8 * interval '1 ms'` })
    .where(and(eq(id, deliveryId), eq(state, 'received')));
}

/**
 * Releases deliveries that came while the connection was paused, the oldest first. It is called under the
 * lock of the connection, which is active again.
 */
export async function releaseHeld({ orm }: Database, connectionId: string): Promise<void> {
  await orm
    .update(ciDeliveries)
    .set({ state: 'received', detail: null, dueAt: sql`${receivedAt}` })
    .where(and(eq(connection, connectionId), eq(state, 'held')));
}

/** Deliveries about a run that was joined into another one are about that one. */
export async function moveToRun(
  { orm }: Database,
  connectionId: string,
  { stays, goes }: JoinedRuns,
): Promise<void> {
  await orm
    .update(ciDeliveries)
    .set({ runId: stays })
    .where(and(eq(connection, connectionId), eq(shown.runId, goes)));
}

/** Finds the time of the last delivery by connection, where there is one. */
export async function lastDeliveriesAt(
  db: Database,
  connectionIds: readonly string[],
): Promise<ReadonlyMap<string, Date>> {
  const last = sql`${id} in (
    select (select d.id from ci_deliveries d where d.connection_id = c.id order by d.id desc nulls last limit 1)
    from unnest(${sql.param([...connectionIds])}::text[]) as c (id))`;
  const found = await db.orm.select({ connection, receivedAt }).from(ciDeliveries).where(last);
  return new Map(found.map((row) => [row.connection, row.receivedAt]));
}
