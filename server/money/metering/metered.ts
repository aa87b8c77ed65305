/** What ended work used, rated and summed up once, by the statement that publishes its event. */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { SqlTag } from '../../base/db/index.ts';
import type { EventEffect } from '../../kit/feature.ts';
import type { Fragment } from '../../base/sql.ts';

/** The effect is known by it. */
export const METERED = 'metered_work';

/**
 * This returns the CTEs `metered_work`, `metered_month`, `metered`, `metered_days` and `metered_names`, which
 * meter an event of each report among the outbox rows of the CTE `published`, and its place in the sums.
 * Time, epoch and runner come from the outbox row alone; whatever else is gone by now leaves the work without
 * project and environment, and never without its time. A second row for one report adds nothing. Rows are
 * written in the order of their keys, so that two workers wait for each other and never in a circle. Names
 * are looked up with the first work of a place on a day: for each batch that took a tenth of the whole
 * statement.
 *
 * A report belongs to the month of its time, or to the oldest month that is open when its own is closed. The
 * row that says so is held in share: whoever closes a month waits for those who hold it, and whoever waited
 * for the closing reads the new month, though its statement began before (a locked row is read anew). So
 * nothing comes into a month behind its closing.
 */
export function metered(currency: string): EventEffect {
  return (sql) => sql`
    ${meteredWork(sql, currency)},
    metered_month as materialized (select month from open_period for share),
    metered as (
      insert into usage_events (work_id, reported_at, team_id, kind, executed_by, epoch, runner_id, build_id, environment_id, project_id, claimed_at,
        metered_ms, self_reported_ms, price_id, rated, period)
      select work_id, reported_at, team_id, kind, executed_by, epoch, runner_id, build_id, environment_id, project_id, claimed_at,
        metered_ms, self_reported_ms, price_id, metered_ms::numeric * nanos_per_second, greatest(date_trunc('month', reported_at at time zone 'UTC')::date, month)
      from metered_work cross join metered_month order by work_id
      on conflict (work_id, reported_at) do nothing
      returning team_id, period, reported_at, kind, executed_by, price_id, project_id, environment_id, runner_id, metered_ms, self_reported_ms
    ),
    metered_days as (
      insert into cost_days as d (team_id, period, day, meter, price_id, project_id, environment_id, runner_id,
        events, metered_ms, self_reported_ms, self_reported_count)
      select team_id, period, greatest((reported_at at time zone 'UTC')::date, period), kind || '.' || executed_by, price_id,
        coalesce(project_id, ''), coalesce(environment_id, ''), runner_id,
        count(*), sum(metered_ms), coalesce(sum(self_reported_ms), 0), count(self_reported_ms)
      from metered group by 1, 2, 3, 4, 5, 6, 7, 8 order by 1, 2, 3, 4, 5, 6, 7, 8
      on conflict (team_id, period, day, meter, price_id, project_id, environment_id, runner_id) do update set
        events = d.events + excluded.events, metered_ms = d.metered_ms + excluded.metered_ms,
        self_reported_ms = d.self_reported_ms + excluded.self_reported_ms,
        self_reported_count = d.self_reported_count + excluded.self_reported_count
      returning d.team_id, d.project_id, d.environment_id, d.runner_id, d.xmax = 0 as is_first
    ),
    metered_names as (
      insert into cost_names (team_id, id, name)
      select distinct on (m.team_id, x.id) m.team_id, x.id, x.name
      from (select team_id, project_id, environment_id, runner_id from metered_days where is_first group by 1, 2, 3, 4) m
      cross join lateral (
        select t.id, t.name from teams t where t.id = m.team_id
        union all select p.id, p.name from projects p where p.id = m.project_id
        union all select v.id, v.name from environments v where v.id = m.environment_id
        union all select r.id, r.name from runners r where r.id = m.runner_id and r.team_id = m.team_id
      ) x
      where not exists (select from cost_names n where n.team_id = m.team_id and n.id = x.id and n.name = x.name)
      order by 1, 2
      on conflict (team_id, id) do update set name = excluded.name
    )`;
}

/**
 * This returns the CTE `metered_work`. Whose runner reported it executed it, because an item's own pool moves
 * with its team's region. Runners go with their team alone, so one that is gone was none of the service's. A
 * run's label counts where it names an environment of the run's own team.
 */
function meteredWork(sql: SqlTag, currency: string): Fragment {
  return sql`
    ${sql(METERED)} as materialized (
      select e.dedupe_key as work_id, f."finishedAt" as reported_at, e.team_id, f.kind, x.executed_by,
        f.epoch, f."runnerId" as runner_id, f."buildId" as build_id, v.id as environment_id, v.project_id,
        f."claimedAt" as claimed_at, f."meteredMs" as metered_ms, f."selfReportedMs" as self_reported_ms, c.id as price_id, c.nanos_per_second
      from published e
      cross join lateral jsonb_to_record(e.payload) f(kind text, "runnerId" text, epoch int, "buildId" text, "claimedAt" timestamptz, "finishedAt" timestamptz,
        "meteredMs" int, "selfReportedMs" int)
      left join runners r on r.id = f."runnerId"
      cross join lateral (
        select case when r.team_id = (select o.id from teams o where o.service_pool) then 'service' else 'runner' end as executed_by
      ) x
      left join builds b on b.id = f."buildId"
      left join work_items w on w.id = e.dedupe_key and w.kind = 'run'
      left join environments v on v.id = coalesce(b.environment_id, w.labels ->> 'environment') and v.team_id = e.team_id
      cross join lateral (
        select c.id, c.nanos_per_second from prices c
        where c.meter = f.kind || '.' || x.executed_by and c.currency = ${currency}::text and c.from_at <= f."claimedAt"
        order by c.from_at desc limit 1
      ) c
      where e.kind = 'work.finished' and f."meteredMs" is not null
    )`;
}
