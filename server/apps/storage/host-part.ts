/** Runners are told by this which storage an app has, and say what became of it. */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { SqlTag } from '../../base/db/index.ts';
import type { HostPart } from '../hosting/index.ts';

/** Data of deleted storage is kept for so long. */
const KEPT_DAYS = 7;

export const mountsPart: HostPart = {
  field: 'mounts',
  select: (sql) => sql`(
    select jsonb_agg(jsonb_build_object('id', m.id, 'kind', m.kind, 'hostPath', m.host_path, 'containerPath', m.container_path) order by m.container_path)
    from storage_mounts m where m.environment_id = h.environment_id and m.state in ('pending_deploy', 'mounted', 'refused'))`,
  // The container says by a label which storage it has, whatever was wanted since: what it does not have any
  // more has left it.
  note: (sql) => sql`
    noted_mounts as (
      update storage_mounts m set
        state = case
          when m.state = 'detaching' then case when t.mounted then 'detaching' else 'retained' end
          when t.problem <> '' then 'refused'
          when t.mounted then 'mounted'
          else 'pending_deploy'
        end,
        problem = case when m.state <> 'detaching' then nullif(t.problem, '') end,
        mounted_at = case when t.mounted then coalesce(m.mounted_at, clock_timestamp()) else m.mounted_at end,
        retained_until = case when m.state = 'detaching' and not t.mounted then clock_timestamp() + ${KEPT_DAYS}::int * interval '1 day' end
      from (
        select m.id, coalesce(x.mounted, false) as mounted, coalesce(x.problem, '') as problem
        from seen s join storage_mounts m on m.environment_id = s.environment_id and m.state <> 'retained'
        left join lateral (
          select x.mounted, x.problem from jsonb_to_recordset(coalesce(s.observed -> 'mounts', '[]')) x(id text, mounted boolean, problem text)
          where x.id = m.id limit 1
        ) x on true
      ) t
      where m.id = t.id
    )`,
};

/** The volume of what was kept for long enough goes by a tombstone; a path of the machine stays. */
export async function purgeStorage(sql: SqlTag): Promise<void> {
  await sql`
    with hosts as materialized (
      -- The row of the app is locked before those of its storage, as everywhere.
      select h.environment_id from host_apps h
      where h.environment_id in (select m.environment_id from storage_mounts m where m.retained_until < now())
      order by h.environment_id for no key update
    ),
    gone as (
      delete from storage_mounts m using hosts h where m.environment_id = h.environment_id and m.retained_until < now()
      returning m.environment_id, m.kind, m.host_path
    )
    insert into host_tombstones (team_id, runner_id, environment_id, kind, app, volume)
    select h.team_id, h.runner_id, h.environment_id, h.kind, h.app, g.host_path
    from gone g join host_apps h on h.environment_id = g.environment_id where g.kind = 'volume'`;
}
