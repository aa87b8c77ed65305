/** Endpoints and deliveries in the database. Everything is found by its team first. */
import type { SqlTag } from '../../platform/db/index.ts';
import { newId } from '../../platform/ids.ts';
import type { Attempt } from './schema.ts';
import { rowId } from '../../platform/sql.ts';
import type { Fragment } from '../../platform/sql.ts';

export const ENDPOINTS_MAX = 20;
/** Holds nothing of the team but its id. */
const TEST_EVENT = 'webhook.test';
/** How long the secret before a new one signs too. */
export const OVERLAP_HOURS = 24;
const KEPT_MS = 30 * 24 * 60 * 60_000;

export interface EndpointRow {
  readonly id: string;
  readonly teamId: string;
  readonly url: string;
  readonly description: string;
  readonly events: readonly string[];
  readonly enabled: boolean;
  readonly disabledReason: string;
  readonly failingSince: Date | null;
  readonly previousUntil: Date | null;
  readonly createdAt: Date;
}

export interface DeliveryRow {
  readonly id: string;
  readonly event: string;
  readonly state: 'pending' | 'delivered' | 'failed';
  readonly attemptCount: number;
  readonly attempts: readonly Attempt[];
  readonly nextAttemptAt: Date | null;
  readonly createdAt: Date;
  /** The same to the microsecond, for the cursor. */
  readonly createdText: string;
}

interface Which {
  readonly teamId: string;
  readonly endpointId: string;
}

const columns = (sql: SqlTag) => sql`
  h.id, h.team_id as "teamId", h.url, h.description, h.events, h.enabled, h.disabled_reason as "disabledReason",
  h.failing_since as "failingSince", case when h.previous_until > now() then h.previous_until end as "previousUntil", h.created_at as "createdAt"`;

const deliveryColumns = (sql: SqlTag) => sql`
  d.id, d.event, d.state, d.attempt_count as "attemptCount", d.attempts, d.next_attempt_at as "nextAttemptAt",
  d.created_at as "createdAt", d.created_at::text as "createdText"`;

/** The body of every attempt, from an event's name, time and data. */
const bodyOf = (sql: SqlTag, event: Fragment, at: Fragment, data: Fragment): Fragment => sql`
  json_build_object('type', ${event}, 'timestamp', to_char(${at} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'data', ${data})::text`;

/**
 * CTE `delivered`: one delivery for each endpoint that wants an event of the CTE `published`. A team without endpoints costs one look into an
 * index. A build has finished when it has, and not with each of its items: one that waits for a person's word has none that ends it.
 */
export function deliveriesMade(sql: SqlTag): Fragment {
  return sql`
    delivered as (
      insert into webhook_deliveries (id, team_id, endpoint_id, event_id, event, body, state, next_attempt_at, created_at)
      select ${rowId(sql, 'msg')}, e.team_id, h.id, e.id, x.event,
        ${bodyOf(sql, sql`x.event`, sql`e.created_at`, sql`e.payload || jsonb_build_object('teamId', e.team_id) || x.more`)},
        'pending', now(), now()
      from published e
      left join work_items w on e.kind = 'work.finished' and w.id = e.dedupe_key and w.kind = 'build'
      left join builds b on b.id = w.build_id and b.work_id = w.id and b.finished_at is not null
      cross join lateral (
        select
          case
            when e.kind <> 'work.finished' then e.kind
            when e.payload ->> 'kind' = 'run' then 'run.finished'
            when b.id is not null then 'build.finished'
          end as event,
          case when b.id is null then '{}'::jsonb
            else jsonb_build_object('buildId', b.id, 'environmentId', b.environment_id, 'number', b.number, 'state', b.state)
          end as more
      ) x
      join webhook_endpoints h on h.team_id = e.team_id and h.enabled and x.event = any(h.events)
      on conflict (endpoint_id, event_id) do nothing
    )`;
}

export async function listEndpoints(sql: SqlTag, teamId: string): Promise<readonly EndpointRow[]> {
  return await sql<
    EndpointRow[]
  >`select ${columns(sql)} from webhook_endpoints h where h.team_id = ${teamId} order by h.id limit ${ENDPOINTS_MAX}::int`;
}

export async function findEndpoint(
  sql: SqlTag,
  { teamId, endpointId }: Which,
): Promise<EndpointRow | undefined> {
  const [row] = await sql<
    EndpointRow[]
  >`select ${columns(sql)} from webhook_endpoints h where h.team_id = ${teamId} and h.id = ${endpointId}`;
  return row;
}

/** Events that an endpoint is or was sent and may still be, which go to its address of the moment. Locks the endpoint. */
export async function eventsOnTheirWay(
  sql: SqlTag,
  { teamId, endpointId }: Which,
): Promise<readonly string[]> {
  const rows = await sql<Array<{ event: string }>>`
    with endpoint as (
      select id, events from webhook_endpoints where team_id = ${teamId} and id = ${endpointId} for update
    )
    select unnest(events) as event from endpoint union
    select d.event from endpoint h join webhook_deliveries d on d.endpoint_id = h.id and d.state = 'pending'
    where d.team_id = ${teamId} and d.event <> ${TEST_EVENT}`;
  return rows.map(({ event }) => event);
}

export interface NewEndpoint {
  readonly id: string;
  readonly teamId: string;
  readonly url: string;
  readonly description: string;
  readonly events: readonly string[];
  readonly sealed: string;
}

/** Undefined: the team has as many as it may. Under the lock of the team's row, so that two at once do not both find room. */
export async function insertEndpoint(sql: SqlTag, made: NewEndpoint): Promise<EndpointRow | undefined> {
  const { id, teamId, url, description, events, sealed } = made;
  await sql`select from teams where id = ${teamId} for update`;
  const [row] = await sql<EndpointRow[]>`
    insert into webhook_endpoints as h (id, team_id, url, description, events, secret, created_at)
    select ${id}, ${teamId}, ${url}, ${description}, ${[...events]}::text[], ${sealed}, now()
    where (select count(*) from webhook_endpoints where team_id = ${teamId}) < ${ENDPOINTS_MAX}::int
    returning ${columns(sql)}`;
  return row;
}

export interface EndpointChange {
  readonly url: string | undefined;
  readonly description: string | undefined;
  /** Undefined: as they are. */
  readonly events: readonly string[] | undefined;
  readonly enabled: boolean | undefined;
}

/** A disabled endpoint is sent nothing any more, also of what waits; an enabled one begins without a past. */
export async function updateEndpoint(
  sql: SqlTag,
  { teamId, endpointId }: Which,
  { url, description, events, enabled }: EndpointChange,
): Promise<EndpointRow | undefined> {
  const said = enabled ?? null;
  const [row] = await sql<EndpointRow[]>`
    with given_up as (
      update webhook_deliveries d set state = 'failed', next_attempt_at = null
      where ${said}::boolean = false and d.team_id = ${teamId} and d.endpoint_id = ${endpointId} and d.state = 'pending'
    )
    update webhook_endpoints h set
      url = coalesce(${url ?? null}::text, h.url), description = coalesce(${description ?? null}::text, h.description),
      events = coalesce(${events === undefined ? null : [...events]}::text[], h.events), enabled = coalesce(${said}::boolean, h.enabled),
      disabled_reason = case when ${said}::boolean is null then h.disabled_reason else '' end,
      failing_since = case when ${said}::boolean then null else h.failing_since end
    where h.team_id = ${teamId} and h.id = ${endpointId}
    returning ${columns(sql)}`;
  return row;
}

export async function deleteEndpoint(sql: SqlTag, { teamId, endpointId }: Which): Promise<boolean> {
  const { count } = await sql`delete from webhook_endpoints where team_id = ${teamId} and id = ${endpointId}`;
  return count === 1;
}

/** Both secrets are sealed for the same place, so that the old one only moves. */
export async function rotateSecret(
  sql: SqlTag,
  { teamId, endpointId }: Which,
  sealed: string,
): Promise<EndpointRow | undefined> {
  const [row] = await sql<EndpointRow[]>`
    update webhook_endpoints h set
      previous_secret = h.secret, previous_until = now() + ${OVERLAP_HOURS}::int * interval '1 hour', secret = ${sealed}
    where h.team_id = ${teamId} and h.id = ${endpointId}
    returning ${columns(sql)}`;
  return row;
}

export async function insertTest(
  sql: SqlTag,
  { teamId, endpointId }: Which,
): Promise<DeliveryRow | undefined> {
  const id = newId('msg');
  const [row] = await sql<DeliveryRow[]>`
    insert into webhook_deliveries as d (id, team_id, endpoint_id, event_id, event, body, state, next_attempt_at, created_at)
    select ${id}, h.team_id, h.id, ${id}, ${TEST_EVENT},
      ${bodyOf(sql, sql`${TEST_EVENT}::text`, sql`now()`, sql`json_build_object('teamId', h.team_id, 'endpointId', h.id)`)}, 'pending', now(), now()
    from webhook_endpoints h where h.team_id = ${teamId} and h.id = ${endpointId} and h.enabled
    returning ${deliveryColumns(sql)}`;
  return row;
}

export interface DeliveriesQuery extends Which {
  readonly take: number;
  /** The last delivery of the page before. */
  readonly after: { readonly createdAt: string; readonly id: string } | undefined;
}

/** Newest first. */
export async function listDeliveries(
  sql: SqlTag,
  { teamId, endpointId, take, after }: DeliveriesQuery,
): Promise<readonly DeliveryRow[]> {
  const behind =
    after === undefined
      ? sql``
      : sql`and (d.created_at, d.id) < (${after.createdAt}::timestamptz, ${after.id})`;
  return await sql<DeliveryRow[]>`
    select ${deliveryColumns(sql)} from webhook_deliveries d
    where d.team_id = ${teamId} and d.endpoint_id = ${endpointId} ${behind}
    order by d.created_at desc nulls last, d.id desc nulls last limit ${take}::int`;
}

/** What is over and older than 30 days; ids sort by time. */
export async function purgeDeliveries(sql: SqlTag, nowMs: number): Promise<number> {
  const { count } = await sql`
    delete from webhook_deliveries where id < ${newId('msg', nowMs - KEPT_MS)} and state <> 'pending'`;
  return count;
}
