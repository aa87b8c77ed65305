/**
 * Sums of a team's days, by what they are of. What it takes grows with the team's days, and not with its
 * history.
 */
import type { Ctx } from '../../kit/context.ts';
import { monthOf } from '../metering/index.ts';
import { coveredRows, type Months } from './coverage.ts';
import type { CostDays } from './days.ts';

export const PARTS_MAX = 200;
/** The greatest projects of the whole time are named by each day. */
const DAILY_PROJECTS = 5;

export type SumKind = 'day' | 'daily' | 'project' | 'environment' | 'runner' | 'meter' | 'line';

export interface Sum {
  readonly kind: SumKind;
  /** Day of the sums `day` and `daily`, first day of the month of a `line`; null for others. */
  readonly day: string | null;
  /** It is null for the rest and empty for none; of a line it is the price. */
  readonly key: string | null;
  readonly name: string | null;
  /** The project that an environment was last used in. */
  readonly projectId: string | null;
  readonly projectName: string | null;
  /** Number of parts that it sums up. */
  readonly parts: number;
  readonly events: number;
  readonly meteredMs: number;
  readonly selfReportedMs: number;
  /** Pico-units. */
  readonly list: string;
  readonly included: string;
}

export interface SumsQuestion extends CostDays {
  readonly teamId: string;
  readonly months: Months;
}

/**
 * Returns days oldest first, and parts greatest first with the rest last. Rows of days are read once, for two
 * groupings of them; all else is of these few. A price is of one meter.
 */
export async function sumsOf(
  { db, teams }: Pick<Ctx, 'db' | 'teams'>,
  { teamId, since, until, months }: SumsQuestion,
): Promise<Sum[]> {
  const { sql } = db.behind;
  const { includedMs, covers } = coveredRows(sql, months);
  return await sql<Sum[]>`
    with days as materialized (
      select grouping(d.day) as is_runner, d.day, d.project_id, d.environment_id, d.runner_id, d.price_id, sum(d.events)::bigint as events,
        sum(d.metered_ms)::bigint as ms, sum(d.self_reported_ms)::bigint as self_ms, ${includedMs} as included_ms
      from cost_days d ${covers}
      where ${teamId}::text = any(${teams.teamIds}::text[]) and d.team_id = ${teamId}
        and d.period between ${monthOf(since)}::date and ${until}::date and d.day >= ${since}::date and d.day < ${until}::date
      group by grouping sets ((d.day, d.project_id, d.environment_id, d.price_id), (d.runner_id, d.price_id))
    ),
    grouped as (
      select 'runner' as kind, null as day, runner_id as key, price_id, events, ms, self_ms, included_ms from days where is_runner = 1
      union all
      select case when grouping(day) = 0 then 'daily' when grouping(environment_id) = 0 then 'environment' when grouping(month) = 0 then 'line' else 'meter' end,
        coalesce(day, month), case when grouping(month) = 0 then price_id else coalesce(project_id, environment_id) end, price_id,
        sum(events), sum(ms), sum(self_ms), sum(included_ms)
      from (select *, date_trunc('month', day)::date as month from days where is_runner = 0) d
      group by grouping sets ((day, project_id, price_id), (environment_id, price_id), (month, price_id), (price_id))
    ),
    rated as (
      select g.kind, g.day, coalesce(g.key, p.meter) as key, sum(g.events) as events, sum(g.ms) as ms, sum(g.self_ms) as self_ms,
        sum(g.ms * p.nanos_per_second::numeric) as list, sum(g.included_ms * p.nanos_per_second::numeric) as included
      from grouped g join prices p on p.id = g.price_id group by g.kind, g.day, coalesce(g.key, p.meter)
    ),
    ranked as (
      select *, row_number() over (partition by kind order by list desc, key) as rank
      from (
        select kind, key, events, ms, self_ms, list, included from rated where kind not in ('daily', 'line')
        union all
        select 'project', key, sum(events), sum(ms), sum(self_ms), sum(list), sum(included) from rated where kind = 'daily' group by key
      ) parts
    ),
    listed as (
      select kind, null::date as day, case when rank <= ${PARTS_MAX} then key end as key, events, ms, self_ms, list, included from ranked
      union all
      select 'line', day, key, events, ms, self_ms, list, included from rated where kind = 'line'
      union all
      select 'day', day, '', events, ms, self_ms, list, included from rated where kind = 'daily'
      union all
      select 'daily', r.day, case when t.rank <= ${DAILY_PROJECTS} then r.key end, r.events, r.ms, r.self_ms, r.list, r.included
      from rated r join ranked t on t.kind = 'project' and t.key = r.key where r.kind = 'daily'
    ),
    summed as (
      select kind, day, key, count(*)::int as parts, sum(events)::float8 as events, sum(ms)::float8 as ms, sum(self_ms)::float8 as self_ms,
        sum(list) as list, sum(included) as included
      from listed group by kind, day, key
    )
    select s.kind, s.day::text, s.key, n.name, j.project_id as "projectId", jn.name as "projectName", s.parts, s.events, s.ms as "meteredMs", s.self_ms as "selfReportedMs",
      s.list::text, s.included::text
    from summed s left join cost_names n on n.team_id = ${teamId} and n.id = s.key
    left join (select distinct on (environment_id) environment_id, project_id from days where environment_id <> '' and project_id <> '' order by environment_id, day desc) j
      on s.kind = 'environment' and j.environment_id = s.key
    left join cost_names jn on jn.team_id = ${teamId} and jn.id = j.project_id
    order by s.kind, s.day, s.key is null, s.list desc, s.key`;
}
