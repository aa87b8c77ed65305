/**
 * Writes deployments from the events of builds alone, because the build may be gone when its event is read;
 * and since events come in any order, what runs in an environment is the deployment of its build with the
 * greatest number.
 */
import type { EventEffect } from '../../kit/feature.ts';
import { rowId } from '../../base/sql.ts';

/**
 * The CTEs `deployed` and `deployment_heads_moved` write the deployments of the events of the CTE
 * `published`. Those of a team that is gone are left out.
 */
export const deployed: EventEffect = (sql) => sql`
  deployments_seen as (
    select e.team_id, e.created_at, b.value as build from published e join teams t on t.id = e.team_id, lateral (select e.payload -> 'build' as value) b
    where e.kind in ('work.finished', 'build.reported_late') and b.value -> 'deployed' = 'true'
  ),
  deployed as (
    insert into deployments (id, team_id, created_at, project_id, environment_id, environment_name, number, build_id, digest, promotion_id, runner_id, region_id, address, how, deployed_at)
    select ${rowId(sql, 'dep')}, d.team_id, d.created_at, d.build ->> 'projectId', d.build ->> 'environmentId', d.build ->> 'environmentName', (d.build ->> 'number')::int,
      d.build ->> 'id', d.build ->> 'digest', p.id, d.build -> 'runner' ->> 'id', d.build -> 'region' ->> 'id', d.build ->> 'address',
      case
        when d.build ->> 'trigger' in ('promotion', 'rollback') then d.build ->> 'trigger'
        when d.build ->> 'approvedBy' is null then 'direct' else 'approved'
      end,
      (d.build ->> 'finishedAt')::timestamptz
    from deployments_seen d left join promotions p on p.build_id = d.build ->> 'id'
    on conflict (build_id) do nothing
  ),
  deployment_heads_moved as (
    -- One row an environment, since a statement moves none twice; in one order, so that two of them do not wait for each other.
    insert into deployment_heads as h (environment_id, team_id, number, build_id, digest)
    select distinct on (d.build ->> 'environmentId') d.build ->> 'environmentId', d.team_id, (d.build ->> 'number')::int, d.build ->> 'id', d.build ->> 'digest'
    from deployments_seen d order by d.build ->> 'environmentId', (d.build ->> 'number')::int desc
    on conflict (environment_id) do update set number = excluded.number, build_id = excluded.build_id, digest = excluded.digest
    where excluded.number > h.number
  )`;
