/** A forecast of a team's current month. */
import type { Row } from '../../platform/resource/index.ts';
import type { Ctx } from '../../platform/context.ts';
import type { CostForecast } from '@svc/proto/gen/svc/costs/v1/costs_pb.ts';
import { decimalOf } from '../amounts/index.ts';
import { dayOf, monthOf } from '../metering/index.ts';
import type { PaidMonth } from '../plans/index.ts';
import { forecastOf, historyFrom, netLater } from './forecast.ts';
import type { History, Spent } from './forecast.ts';

type Reader = Pick<Ctx, 'db' | 'teams'>;

/** What a forecast is made of beside this month's own days. */
export interface MonthSoFar {
  /** Days before this month. */
  readonly history: History;
  /** Absent when nothing is included. */
  readonly paid: PaidMonth | undefined;
}

export async function monthSoFar(
  ctx: Reader,
  { teamId, now, paid }: Pick<MonthSoFar, 'paid'> & { readonly teamId: string; readonly now: Date },
): Promise<MonthSoFar> {
  return { history: await historyOf(ctx, { teamId, today: dayOf(now.getTime()) }), paid };
}

export interface SpentSoFar {
  /** Days of this month. */
  readonly days: ReadonlyMap<string, Spent>;
  /** Part of their price that the plan includes, in pico-units. */
  readonly included: bigint;
}

export function forecastMonth(
  { history: before, paid }: MonthSoFar,
  { days, included }: SpentSoFar,
): Row<CostForecast> | undefined {
  const [firstOfMonth] = [...days.keys()].toSorted();
  const history = {
    today: before.today,
    firstDay: before.firstDay ?? firstOfMonth,
    days: new Map([...before.days, ...days]),
  };
  const forecast = forecastOf(history);
  if (forecast === undefined) return undefined;
  const { list, method, soFar } = forecast;
  const net = soFar.list - included + netLater(forecast, history.today, paid);
  return { list: decimalOf(list), net: decimalOf(net), method };
}

async function historyOf(
  { db, teams }: Reader,
  { teamId, today }: { readonly teamId: string; readonly today: string },
): Promise<History> {
  const [from, month] = [historyFrom(today), monthOf(today)];
  const rows = await db.behind.sql<Array<{ day: string; firstDay: string; list: string | null; ms: number }>>`
    with first as (
      select min(day) as day from cost_days where team_id = ${teamId} and period = (select min(period) from cost_days where team_id = ${teamId})
    ),
    days as (
      select day, price_id, sum(metered_ms) as ms from cost_days
      where team_id = ${teamId} and team_id = any(${[...teams.teamIds]}::text[])
        and period >= date_trunc('month', ${from}::date)::date and period < ${month}::date and day >= ${from}::date
      group by day, price_id
    )
    select d.day::text, f.day::text as "firstDay", sum(d.ms * p.nanos_per_second)::text as list, sum(d.ms)::float8 as ms
    from first f left join days d on true left join prices p on p.id = d.price_id group by 1, 2`;
  const spent = rows.flatMap(({ day, list, ms }): Array<[string, Spent]> =>
    list === null ? [] : [[day, { list: BigInt(list), ms }]],
  );
  return { today, firstDay: rows[0]?.firstDay ?? undefined, days: new Map(spent) };
}
