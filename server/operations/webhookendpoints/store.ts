/** This file holds how deliveries are made and how long they are kept. */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { Database, SqlTag } from '../../base/db/index.ts';
import { newId } from '../../base/ids.ts';
import { jobsAdded, wakeWorkers } from '../../kit/jobs/index.ts';
import { rowId, type Fragment } from '../../base/sql.ts';

/** Holds nothing of the team but its id. */
const TEST_EVENT = 'webhook.test';
const KEPT_MS = 30 * 24 * 60 * 60_000;

export const DELIVERY_JOB = 'webhook_delivery';
/**
 * Attempts at once for one endpoint, so that a slow one does not take all: each delivery is of one of so many
 * lanes of its endpoint.
 */
const LANES = 4;

interface EndpointRef {
  readonly teamId: string;
  readonly endpointId: string;
}

interface EventOfBody {
  readonly event: Fragment;
  readonly at: Fragment;
  readonly data: Fragment;
}

/** Every attempt has this body. */
const bodyOf = (sql: SqlTag, { event, at, data }: EventOfBody): Fragment => sql`
  json_build_object('type', ${event}, 'timestamp', to_char(${at} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'data', ${data})::text`;

/** Adds a job for each row of the CTE `delivered`. */
const deliveryJobs = (sql: SqlTag): Fragment =>
  jobsAdded(
    sql,
    DELIVERY_JOB,
    sql`
      select team_id, 'webhook endpoint ' || endpoint_id || ' ' || floor(random() * ${LANES}::int) as lane, jsonb_build_object('deliveryId', id) as payload
      from delivered`,
  );

/**
 * The CTE `delivered` makes one delivery, and its job, for each endpoint that wants an event of the CTE
 * `published`. A team without endpoints costs one look into an index. A build has finished when it has, and
 * not with each of its items: one that waits for a person's word has none that ends it.
 */
export function deliveriesMade(sql: SqlTag): Fragment {
  return sql`
    delivered as (
      insert into webhook_deliveries (id, team_id, endpoint_id, event_id, event, body, state, next_attempt_at, created_at)
      select ${rowId(sql, 'msg')}, e.team_id, h.id, e.id, x.event,
        ${bodyOf(sql, {
          event: sql`x.event`,
          at: sql`e.created_at`,
          data: sql`(e.payload - 'build') || jsonb_build_object('teamId', e.team_id) || x.more`,
        })},
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
      returning id, team_id, endpoint_id
    ), delivery_jobs as (${deliveryJobs(sql)})`;
}

/**
 * Events that an endpoint is or was sent and may still be, which go to its address of the moment. Locks the
 * endpoint.
 */
export async function eventsOnTheirWay(
  sql: SqlTag,
  { teamId, endpointId }: EndpointRef,
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

/** It is undefined where the endpoint is disabled. */
export async function insertTest(
  db: Database,
  { teamId, endpointId }: EndpointRef,
): Promise<string | undefined> {
  const { sql } = db;
  const id = newId('msg');
  const { count } = await sql`
    with delivered as (
    insert into webhook_deliveries as d (id, team_id, endpoint_id, event_id, event, body, state, next_attempt_at, created_at)
    select ${id}, h.team_id, h.id, ${id}, ${TEST_EVENT},
      ${bodyOf(sql, {
        event: sql`${TEST_EVENT}::text`,
        at: sql`now()`,
        data: sql`json_build_object('teamId', h.team_id, 'endpointId', h.id)`,
      })}, 'pending', now(), now()
    from webhook_endpoints h where h.team_id = ${teamId} and h.id = ${endpointId} and h.enabled
    returning id, team_id, endpoint_id
    ) ${deliveryJobs(sql)}`;
  wakeWorkers(db);
  return count === 1 ? id : undefined;
}

/** Deletes what is over and older than 30 days; ids sort by time. */
export async function purgeDeliveries(sql: SqlTag, nowMs: number): Promise<number> {
  const { count } = await sql`
    delete from webhook_deliveries where id < ${newId('msg', nowMs - KEPT_MS)} and state <> 'pending'`;
  return count;
}
