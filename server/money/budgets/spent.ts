/**
 * Sums of days by budget, read team by team: what a team's rows are grouped by stays small enough for memory,
 * however many teams there are. Reads the days of this month and of four weeks, however long the history is.
 */
// No TeamScope: given the row, or the team, that the call was authorised for.
import type { SqlTag } from '../../base/db/index.ts';
import type { Fragment } from '../../base/sql.ts';
import { historyFrom } from '../costs/index.ts';
import { monthOf } from '../metering/index.ts';
import { includedMs, monthAfter, type PaidMonth } from '../plans/index.ts';
import type { Month } from './months.ts';
import type { budgets } from './schema.ts';

export type BudgetRow = typeof budgets.$inferSelect;

export interface SpentRow extends BudgetRow {
  /** Name of its project, environment or team, as it was last metered. */
  readonly name: string | null;
  /** Net costs of the month, in pico-units. */
  readonly net: string;
  /** List price of the dearest day in pico-units, at the highest prices of these months. */
  readonly dearest: string;
  /** Somebody was told already that it is likely to be exceeded. */
  readonly isForetold: boolean;
}

export interface Reading {
  readonly teamIds: readonly string[];
  readonly month: Month;
  readonly payers: readonly PaidMonth[];
}

/** Reads them in the order of teams, projects and environments. */
export async function readSpent(
  sql: SqlTag,
  { teamIds, month, payers }: Reading,
): Promise<readonly SpentRow[]> {
  const covered = payers.flatMap(({ teamIds: theirs, coverage: { day } }) =>
    theirs.map((id) => ({ team_id: id, day })),
  );
  const shares = new Map(payers.flatMap(({ coverage }) => [...coverage.shares]));
  const included =
    covered.length === 0
      ? sql`0`
      : sql`case when d.day < ${month.period}::date then 0 else ${includedMs(sql, { day: sql`t.covered`, shares })} end`;
  return await sql<SpentRow[]>`
    with covered as materialized (select * from jsonb_to_recordset(${sql.json(covered)}::jsonb) c(team_id text, day date)),
    sums as (
      select x.*
      from (
        select b.team_id, c.day as covered from (select distinct team_id from budgets where team_id = any(${teamIds}::text[])) b
        left join covered c on c.team_id = b.team_id
      ) t
      cross join lateral (select id, sum(net) as net, max(dear) as dearest
        from (select id, day, sum(net) as net, sum(dear) as dear from (${byMeter(sql, { month, included })}) m group by id, day) y group by id) x
    )
    select b.id, b.team_id as "teamId", b.project_id as "projectId", b.environment_id as "environmentId", b.limit_cents as "limitCents", b.enabled, b.enforcement,
      b.revision, b.created_at as "createdAt", b.updated_at as "updatedAt", n.name, coalesce(x.net, 0)::text as net, coalesce(x.dearest, 0)::text as dearest,
      exists (
        select from budget_notices o where o.subject_id = b.id and o.month = ${month.period}::date and o.kind = 'forecast' and o.revision = b.revision
      ) as "isForetold"
    from budgets b
    left join sums x on x.id = b.id
    left join cost_names n on n.team_id = b.team_id and n.id = coalesce(nullif(b.environment_id, ''), nullif(b.project_id, ''), b.team_id)
    where b.team_id = any(${teamIds}::text[])
    order by b.team_id, b.project_id, b.environment_id`;
}

/** Day, meter, list price, milliseconds. */
export type Day = readonly [string, string, string, string];

/** Reads days by budget; one of which nothing is metered has no entry. */
export async function readDays(
  sql: SqlTag,
  { of, month }: { readonly of: readonly BudgetRow[]; readonly month: Month },
): Promise<ReadonlyMap<string, readonly Day[]>> {
  if (of.length === 0) return new Map();
  const teamIds = [...new Set(of.map(({ teamId }) => teamId))];
  const rows = await sql<Array<{ id: string; days: readonly Day[] }>>`
    select x.* from unnest(${teamIds}::text[]) t(team_id)
    cross join lateral (
      select id, json_agg(json_build_array(day, meter, list::text, ms::text)) as days from (${byMeter(sql, { month, included: sql`0` })}) y
      where id = any(${of.map(({ id }) => id)}::text[]) group by id
    ) x`;
  return new Map(rows.map(({ id, days }) => [id, days]));
}

/**
 * Makes sums by day and meter for the budgets of a team `t`. `included` is the milliseconds of a row of
 * `cost_days d`. Rows of a place and day are few after the first grouping, of which each budget takes its
 * part.
 */
function byMeter(
  sql: SqlTag,
  { month: { today, period }, included }: { readonly month: Month; readonly included: Fragment },
): Fragment {
  const from = historyFrom(today);
  return sql`
    select b.id, d.day, p.meter, sum(d.ms) as ms, sum(d.ms * p.nanos_per_second::numeric) as list,
      sum(d.ms * p.top::numeric) as dear,
      sum((case when d.day < ${period}::date then 0 else d.ms - d.included end) * p.nanos_per_second::numeric) as net
    from (
      select d.project_id, d.environment_id, d.day, d.price_id, sum(d.metered_ms)::bigint as ms, sum(${included})::bigint as included
      from cost_days d where d.team_id = t.team_id and d.period in (${monthOf(from)}::date, ${period}::date) and d.day >= ${from}::date
      group by d.project_id, d.environment_id, d.day, d.price_id
    ) d
    join (
      select p.*, (
        select max(h.nanos_per_second) from prices h
        where h.meter = p.meter and h.currency = p.currency and h.from_at < (${monthAfter(period)}::date)::timestamp at time zone 'UTC'
          and (h.id = p.id or not exists (
            select from prices l where l.meter = h.meter and l.currency = h.currency and l.from_at > h.from_at and l.from_at <= (${from}::date)::timestamp at time zone 'UTC'
          ))
      ) as top from prices p offset 0
    ) p on p.id = d.price_id
    join budgets b on b.team_id = t.team_id and b.project_id in ('', d.project_id) and b.environment_id in ('', d.environment_id)
    group by b.id, d.day, p.meter`;
}
