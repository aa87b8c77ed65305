/** This file computes which part of a team's time its plan includes, in each of some months. */
// No TeamScope: what the plan of a team’s payer includes, over all teams of the payer.
import type { Database, SqlTag } from '../../base/db/index.ts';
import type { Fragment } from '../../base/sql.ts';
import { includedMs, paidMonth, type PaidMonth } from '../plans/index.ts';

/** Paid months by their first day. Nothing is included in a month that is not there. */
export type Months = ReadonlyMap<string, PaidMonth>;

export interface TeamMonths {
  readonly teamId: string;
  readonly months: readonly string[];
  /** There is a provider of payments; without one nothing is included. */
  readonly charges: boolean;
}

/** Paid months of those in which the team used something. */
export async function monthsPaid(
  { sql }: Pick<Database, 'sql'>,
  { teamId, months, charges }: TeamMonths,
): Promise<Months> {
  if (!charges) return new Map();
  const used = await sql<Array<{ period: string }>>`
    select u.period::text from unnest(${[...months]}::text[]::date[]) u(period)
    where exists (select from cost_days d where d.team_id = ${teamId} and d.period = u.period)`;
  const paid = await Promise.all(
    used.map(async ({ period }) => [period, await paidMonth({ sql }, { teamId, period, charges })] as const),
  );
  return new Map(paid);
}

/** Joins to `cost_days d` as `c` the day up to which the month of a row is included. */
function joinedCovers(sql: SqlTag, months: Months): Fragment {
  const rows = [...months].map(([period, { coverage }]) => ({ period, day: coverage.day }));
  return sql`left join jsonb_to_recordset(${sql.json(rows)}::jsonb) c(period date, day date) on c.period = d.period`;
}

/** Included milliseconds of a row of `cost_days d`, with the join of `joinedCovers`. */
function includedOfRow(sql: SqlTag, months: Months): Fragment {
  const shares = new Map([...months.values()].flatMap(({ coverage }) => [...coverage.shares]));
  return includedMs(sql, { day: sql`c.day`, shares });
}

export interface CoveredRows {
  /** The sum of the included milliseconds of rows of `cost_days d`. */
  readonly includedMs: Fragment;
  /** Join that `includedMs` needs behind `cost_days d`. */
  readonly covers: Fragment;
}

/** Where nothing is included, nothing is computed of a row. */
export function coveredRows(sql: SqlTag, months: Months): CoveredRows {
  const isNothing = [...months].every(
    ([period, { coverage }]) => coverage.day === period && coverage.shares.size === 0,
  );
  if (isNothing) return { includedMs: sql`0::bigint`, covers: sql`` };
  return {
    includedMs: sql`sum(${includedOfRow(sql, months)})::bigint`,
    covers: joinedCovers(sql, months),
  };
}

/** Net costs of a team's month before a day, in pico-units. */
export async function netBefore(
  { sql }: Pick<Database, 'sql'>,
  {
    teamId,
    period,
    day,
    months,
  }: { readonly teamId: string; readonly period: string; readonly day: string; readonly months: Months },
): Promise<bigint> {
  const [row] = await sql<Array<{ net: string }>>`
    select coalesce(sum((d.metered_ms - (${includedOfRow(sql, months)}))::numeric * p.nanos_per_second), 0)::text as net
    from cost_days d join prices p on p.id = d.price_id ${joinedCovers(sql, months)}
    where d.team_id = ${teamId} and d.period = ${period}::date and d.day < ${day}::date`;
  return BigInt(row?.net ?? 0);
}
