/** What budgets have spent, and what their month is likely to come to. Reads the days of this month and of four weeks, however long the history is. */
import type { SqlTag } from '../../platform/db/index.ts';
import { picoOf } from '../amounts/index.ts';
import { forecastOf, historyFrom } from '../costs/index.ts';
import type { Spent } from '../costs/index.ts';
import { countDays, monthOf } from '../metering/index.ts';
import { includedMs, monthAfter, paidMonths } from '../plans/index.ts';
import type { Pricing, PaidMonth } from '../plans/index.ts';
import { percentOf } from './figures.ts';
import { monthAt } from './months.ts';
import type { Month } from './months.ts';
import type { budgets } from './schema.ts';

export type BudgetRow = typeof budgets.$inferSelect;

export interface Measured extends BudgetRow {
  /** Of its project, environment or team, as it was last metered. */
  readonly name: string | null;
  /** Net costs of the month, in pico-units. */
  readonly spent: bigint;
  readonly percentUsed: number;
  /** Net costs of the whole month; undefined before its third day. Computed when it is asked for. */
  forecast(): bigint | undefined;
  /** No forecast is greater: as much as on the dearest day, on each day that is left. */
  readonly forecastMax: bigint;
}

export interface Measuring extends Pricing {
  readonly teamIds: readonly string[];
  readonly now: Date;
}

export interface Measures {
  readonly month: Month;
  /** Of whoever pays for the teams, with all teams of each; none without a provider. */
  readonly payers: readonly PaidMonth[];
  /** Those of the teams and of all others of their payers, in the order of teams, projects and environments. */
  readonly budgets: readonly Measured[];
}

/** Figures that an evaluation acts on. */
export interface Evaluated extends Measures, Pricing {
  readonly now: Date;
  /** Whose marks were taken. */
  readonly teamIds: readonly string[];
}

export const scopeOf = ({ projectId, environmentId }: Pick<BudgetRow, 'projectId' | 'environmentId'>) => ({
  ...(projectId !== '' && { projectId }),
  ...(environmentId !== '' && { environmentId }),
});

export async function measure(
  sql: SqlTag,
  { teamIds, now, currency, charges }: Measuring,
): Promise<Measures> {
  const month = monthAt(now);
  const payers = charges ? await paidMonths({ sql }, { teamIds, period: month.period, charges }) : [];
  const all = charges ? payers.flatMap((payer) => payer.teamIds) : teamIds;
  const rows = await readSpent(sql, { teamIds: all, month, payers });
  const daysLeft = BigInt(countDays(month.today, monthAfter(month.period)));
  const payerOf = new Map(payers.flatMap((payer) => payer.teamIds.map((id) => [id, payer] as const)));
  const budgets = rows.map(({ net, days, ...budget }): Measured => {
    const spent = BigInt(net);
    const percentUsed = percentOf(spent, picoOf(budget.limitCents, currency));
    const payer = payerOf.get(budget.teamId);
    const forecast = () => forecastNet({ spent, days, payer, month });
    return { ...budget, spent, percentUsed, forecast, forecastMax: spent + dearest(days) * daysLeft };
  });
  return { month, payers, budgets };
}

/** Day, list price, milliseconds. */
type Day = readonly [string, string, number];

function dearest(days: readonly Day[]): bigint {
  return days.reduce((most, [, list]) => (BigInt(list) > most ? BigInt(list) : most), 0n);
}

interface Row extends BudgetRow {
  readonly name: string | null;
  readonly net: string;
  readonly days: readonly Day[];
}

interface Reading {
  readonly teamIds: readonly string[];
  readonly month: Month;
  readonly payers: readonly PaidMonth[];
}

async function readSpent(sql: SqlTag, { teamIds, month, payers }: Reading): Promise<readonly Row[]> {
  const from = historyFrom(month.today);
  const covered = payers.flatMap(({ teamIds: theirs, coverage: { day } }) =>
    theirs.map((id) => ({ team_id: id, day })),
  );
  const shares = new Map(payers.flatMap(({ coverage }) => [...coverage.shares]));
  return await sql<Row[]>`
    with wanted as materialized (select * from budgets where team_id = any(${[...teamIds]}::text[])),
    covered as materialized (select * from jsonb_to_recordset(${sql.json(covered)}::jsonb) c(team_id text, day date)),
    days as materialized (
      select d.team_id, d.project_id, d.environment_id, d.day, sum(d.metered_ms) as ms, sum(d.metered_ms::numeric * p.nanos_per_second) as list,
        sum(case when d.day < ${month.period}::date or c.day is null then 0 else ${includedMs(sql, { day: sql`c.day`, shares })} end::numeric * p.nanos_per_second) as included
      from (select distinct team_id from wanted) w
      join cost_days d on d.team_id = w.team_id and d.period in (${monthOf(from)}::date, ${month.period}::date) and d.day >= ${from}::date
      join prices p on p.id = d.price_id
      left join covered c on c.team_id = d.team_id
      group by d.team_id, d.project_id, d.environment_id, d.day
    ),
    by_day as (
      select b.id, d.day, sum(d.list) as list, sum(d.ms) as ms, sum(case when d.day < ${month.period}::date then 0 else d.list - d.included end) as net
      from wanted b join days d on d.team_id = b.team_id and b.project_id in ('', d.project_id) and b.environment_id in ('', d.environment_id)
      group by b.id, d.day
    ),
    sums as (select id, sum(net) as net, json_agg(json_build_array(day, list::text, ms)) as days from by_day group by id)
    select b.id, b.team_id as "teamId", b.project_id as "projectId", b.environment_id as "environmentId", b.limit_cents as "limitCents", b.enabled, b.enforcement,
      b.revision, b.created_at as "createdAt", b.updated_at as "updatedAt", n.name, coalesce(x.net, 0)::text as net, coalesce(x.days, '[]'::json) as days
    from wanted b
    left join sums x on x.id = b.id
    left join cost_names n on n.team_id = b.team_id and n.id = coalesce(nullif(b.environment_id, ''), nullif(b.project_id, ''), b.team_id)
    order by b.team_id, b.project_id, b.environment_id`;
}

interface Question {
  readonly spent: bigint;
  readonly days: readonly Day[];
  readonly payer: PaidMonth | undefined;
  readonly month: Month;
}

/** As the summary of costs has it: what is still to be spent costs its list price, but for what is left of the pool, shared by time with the payer's other teams, which go on as up to now. */
function forecastNet({ spent, days, payer, month: { today, period } }: Question): bigint | undefined {
  const byDay = new Map(days.map(([day, list, ms]): [string, Spent] => [day, { list: BigInt(list), ms }]));
  const [firstDay] = [...byDay.keys()].toSorted();
  const forecast = forecastOf({ today, firstDay, days: byDay });
  if (forecast === undefined) return undefined;
  const { list, ms, soFar } = forecast;
  const listLater = list - soFar.list;
  const free = payer === undefined ? 0 : Math.max(0, payer.poolMs - payer.usedMs);
  if (payer === undefined || free === 0) return spent + listLater;
  const [gone, left] = [countDays(period, today), countDays(today, monthAfter(period))];
  const others = Math.round((Math.max(0, payer.usedMs - soFar.ms) / gone) * left);
  const later = ms - soFar.ms + others;
  return free >= later ? spent : spent + listLater - (listLater * BigInt(free)) / BigInt(later);
}
