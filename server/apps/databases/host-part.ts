/** Runners are told by this which databases an environment has, and say what became of them. */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import { dataOf } from '@svc/proto/hosting/databases.ts';
import type { SqlTag } from '../../base/db/index.ts';
import { rowId, type Fragment } from '../../base/sql.ts';
import type { EventEffect } from '../../kit/feature.ts';
import type { HostPart } from '../hosting/index.ts';

/** Content of deleted databases is kept for so long. */
const KEPT_DAYS = 7;

/** Builds HostDatabase of the contract, of the row `d`. */
const document = (sql: SqlTag): Fragment => sql`
  jsonb_build_object('id', d.id, 'type', d.type, 'image', d.image || ':' || d.image_version, 'digest', coalesce(d.digest, ''), 'remove', d.state = 'deleting')`;

/** Selects what a runner said of databases: the row `d` as it was, and the row `x` of what was said. */
const said = (sql: SqlTag): Fragment => sql`
  seen s join databases d on d.environment_id = s.environment_id and d.kind = 'main' and d.state <> 'retained'
  cross join lateral (
    select x.* from jsonb_to_recordset(coalesce(s.observed -> 'databases', '[]')) x(id text, state text, problem text, digest text, backup jsonb)
    where x.id = d.id limit 1
  ) x`;

export const databasesPart: HostPart = {
  field: 'databases',
  select: (sql) => sql`(
    select jsonb_agg(${document(sql)} order by d.id) from databases d
    where d.environment_id = h.environment_id and d.kind = 'main' and d.state <> 'retained')`,
  // A database that is not named stays as it is: an order to remove one is carried out when its runner says
  // so.
  note: (sql) => sql`
    noted_databases as (
      update databases d set
        state = case
          when t.was = 'deleting' then case t.state when 'removed' then 'retained' else 'deleting' end
          when t.state = 'removed' then 'requested'
          else t.state
        end,
        problem = nullif(t.problem, ''),
        digest = coalesce(d.digest, nullif(t.digest, '')),
        backup = coalesce(t.backup, d.backup),
        retained_until = case when t.was = 'deleting' and t.state = 'removed' then clock_timestamp() + ${KEPT_DAYS}::int * interval '1 day' end
      from (select d.id, d.state as was, x.state, x.problem, x.digest, x.backup from ${said(sql)}) t
      where d.id = t.id
    ),
    told_backups as (
      -- Told once until a backup is good again.
      insert into outbox (id, team_id, kind, dedupe_key, payload, created_at)
      select ${rowId(sql, 'evt')}, d.team_id, 'database.backup_failed', d.id || ' ' || (x.backup ->> 'at'),
        jsonb_build_object('databaseId', d.id, 'environmentId', d.environment_id, 'problem', x.backup ->> 'problem', 'goodAt', x.backup ->> 'goodAt',
          'title', 'The backup of the database of ' || e.name || ' failed',
          'body', (x.backup ->> 'problem') || '. ' || coalesce('The newest good one is of ' || (x.backup ->> 'goodAt') || '; it is kept.', 'There is no earlier one.')),
        now()
      from ${said(sql)} join environments e on e.id = d.environment_id
      where x.backup ->> 'state' = 'failed' and coalesce(d.backup ->> 'state', 'good') = 'good'
      on conflict (kind, dedupe_key) do nothing
    )`,
};

export const testDatabasePart: HostPart = {
  field: 'testDatabase',
  select: (sql) => sql`(
    select ${document(sql)} from databases d where d.environment_id = h.environment_id and d.kind = 'test')`,
};

/** People are told that nobody looks after databases any more, once their runner is revoked. */
export const databasesLost: EventEffect = (sql) => sql`
  lost_databases as (
    insert into outbox (id, team_id, kind, dedupe_key, payload, created_at)
    select ${rowId(sql, 'evt')}, d.team_id, 'database.lost', d.id || ' ' || p.id,
      jsonb_build_object('databaseId', d.id, 'environmentId', d.environment_id, 'runnerId', h.runner_id,
        'title', 'Nobody looks after the database of ' || e.name,
        'body', 'The runner of its machine was revoked. Its content is still there: svc-runner database backup ' || h.app || ', on that machine.'),
      now()
    from published p join host_apps h on h.runner_id = p.payload ->> 'runnerId'
      join databases d on d.environment_id = h.environment_id and d.kind = 'main' and d.state not in ('deleting', 'retained')
      join environments e on e.id = d.environment_id
    where p.kind = 'runner.revoked'
    on conflict (kind, dedupe_key) do nothing
  )`;

/** Removes what was kept for long enough, by a tombstone. */
export async function purgeDatabases(sql: SqlTag): Promise<void> {
  await sql`
    with hosts as materialized (
      -- The row of the app is locked before those of its databases, as everywhere.
      select h.environment_id from host_apps h
      where h.environment_id in (select d.environment_id from databases d where d.retained_until < now())
      order by h.environment_id for no key update
    ),
    gone as (
      delete from databases d using hosts h where d.environment_id = h.environment_id and d.retained_until < now()
      returning d.environment_id, d.id
    )
    insert into host_tombstones (team_id, runner_id, environment_id, kind, app, volume)
    select h.team_id, h.runner_id, h.environment_id, h.kind, h.app, ${dataOf('')} || g.id
    from gone g join host_apps h on h.environment_id = g.environment_id`;
}
