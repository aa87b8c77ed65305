/** The ledger of deliveries, and the queue of those that are to be read. Ids sort by time. What is due is decided by the database's clock alone. */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { Database, SqlTag } from '../../../base/db/index.ts';
import { newId } from '../../../base/ids.ts';

export type DeliveryState = 'received' | 'held' | 'processed' | 'ignored' | 'failed';

export interface Delivery {
  readonly id: string;
  readonly teamId: string;
  readonly connectionId: string;
  readonly deliveryId: string;
  readonly event: string | null;
  readonly state: DeliveryState;
  readonly detail: string | null;
  readonly changed: string | null;
  readonly runId: string | null;
  readonly bytes: number;
  readonly repeats: number;
  readonly receivedAt: Date;
  readonly processedAt: Date | null;
}

const KEPT_MS = 30 * 24 * 60 * 60_000;

const columns = (sql: SqlTag) => sql`
  d.id, d.team_id as "teamId", d.connection_id as "connectionId", d.delivery_id as "deliveryId", d.event, d.state, d.detail, d.changed,
  d.run_id as "runId", octet_length(d.body) as bytes, d.repeats, d.received_at as "receivedAt", d.processed_at as "processedAt"`;

/** Lists deliveries, newest first. `after`: the last one of the page before. */
export async function listDeliveries(
  { sql }: Database,
  { connectionId, take, after }: { connectionId: string; take: number; after: string | undefined },
): Promise<readonly Delivery[]> {
  const behind = after === undefined ? sql`` : sql`and d.id < ${after}`;
  return await sql<Delivery[]>`
    select ${columns(sql)} from ci_deliveries d where d.connection_id = ${connectionId} ${behind}
    order by d.id desc nulls last limit ${take}`;
}

export interface AllQuery {
  readonly take: number;
  readonly after: string | undefined;
  readonly connectionId: string | undefined;
  readonly state: DeliveryState | undefined;
}

/** Lists the deliveries of all teams. */
export async function listAllDeliveries(
  { sql }: Database,
  { take, after, connectionId, state }: AllQuery,
): Promise<readonly Delivery[]> {
  // The failed ones have an index of their own, which a parameter would hide.
  const ofState = state === 'failed' ? sql`and d.state = 'failed'` : sql`and d.state = ${state ?? ''}`;
  return await sql<Delivery[]>`
    select ${columns(sql)} from ci_deliveries d where true
      ${after === undefined ? sql`` : sql`and d.id < ${after}`}
      ${connectionId === undefined ? sql`` : sql`and d.connection_id = ${connectionId}`}
      ${state === undefined ? sql`` : ofState}
    order by d.id desc limit ${take}`;
}

/** Lists the newest deliveries of several connections, each by its own part of the index. */
export async function newestDeliveries(
  { sql }: Database,
  connectionIds: readonly string[],
  take: number,
): Promise<readonly Delivery[]> {
  return await sql<Delivery[]>`
    select n.* from unnest(${[...connectionIds]}::text[]) as c (id)
    cross join lateral (
      select ${columns(sql)} from ci_deliveries d where d.connection_id = c.id order by d.id desc nulls last limit ${take}
    ) n
    order by n.id desc limit ${take}`;
}

/** Has a delivery read again, as if it had just come; one that waits or is being read is left as it is. */
export async function readAgain({ sql }: Database, id: string): Promise<Delivery | undefined> {
  await sql`
    update ci_deliveries set state = 'received', detail = null, attempts = 0, due_at = now(), processed_at = null
    where id = ${id} and state <> 'received'`;
  const [row] = await sql<Delivery[]>`select ${columns(sql)} from ci_deliveries d where d.id = ${id}`;
  return row;
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

export interface Taken {
  readonly id: string;
  readonly connectionId: string;
  readonly event: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** How many readings were begun, with this one. */
  readonly attempts: number;
}

/** A reader that has not ended its work for so long is dead. */
const CLAIM_MS = 15_000;
const TAKE_MAX = 100;
/** Limit of the bodies that a pass holds in memory; at least one delivery, however large. More would hold up the door while the driver decodes it. */
const TAKE_BYTES_MAX = 2 * 1024 * 1024;

/** Takes the deliveries that are due, the longest waiting first, each for one reader alone. */
export async function takeDueDeliveries(sql: SqlTag): Promise<readonly Taken[]> {
  const taken = await sql<Taken[]>`
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
  // The first of two endings of one delivery counts. An update answers in any order.
  return [...taken].sort((a, b) => (a.id < b.id ? -1 : 1));
}

export interface Ending {
  readonly id: string;
  readonly state: Exclude<DeliveryState, 'received'>;
  readonly event?: string | null | undefined;
  readonly detail?: string | undefined;
  readonly changed?: string | undefined;
  readonly runId?: string | undefined;
}

/** The change of the first reading stays: read again, a delivery changes nothing. */
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

export async function postpone(sql: SqlTag, id: string, waitMs: number): Promise<void> {
  await sql`
    update ci_deliveries set due_at = now() + ${waitMs}::float8 * interval '1 ms' where id = ${id} and state = 'received'`;
}

/** Releases deliveries that came while the connection was paused, the oldest first. It is called under the lock of the connection, which is active again. */
export async function releaseHeld({ sql }: Database, connectionId: string): Promise<void> {
  await sql`
    update ci_deliveries set state = 'received', detail = null, due_at = received_at where connection_id = ${connectionId} and state = 'held'`;
}

/** Stores the id by which the repository is known if it is renamed. */
export async function pinRepository(sql: SqlTag, connectionId: string, repositoryId: string): Promise<void> {
  await sql`update ci_webhooks set repository_id = ${repositoryId} where connection_id = ${connectionId}`;
}

export async function lastDeliveryAt({ sql }: Database, connectionId: string): Promise<Date | null> {
  const [row] = await sql<Array<{ at: Date }>>`
    select received_at as at from ci_deliveries where connection_id = ${connectionId} order by id desc nulls last limit 1`;
  return row?.at ?? null;
}
