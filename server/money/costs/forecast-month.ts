/** This file makes the forecast of a team's current month. */
import type { Row } from '../../kit/resource/index.ts';
import type { Ctx } from '../../kit/context.ts';
import type { CostForecast } from '@svc/proto/gen/svc/costs/v1/costs_pb.ts';
import { decimalOf } from '../amounts/index.ts';
import { monthOf, nanosByDay } from '../metering/index.ts';
import type { PaidMonth } from '../plans/index.ts';
import { forecastOf, historyFrom, netLater, type History, type Spent } from './forecast.ts';
import { costAt, type MeterDay } from './priced-days.ts';

/** A forecast is made of these, beside the days before this month. */
export interface SpentSoFar {
  /** Days of this month. */
  readonly days: ReadonlyMap<string, Spent>;
  /** Part of their price that the plan includes, in pico-units. */
  readonly included: bigint;
  /** Absent when nothing is included. */
  readonly paid: PaidMonth | undefined;
}

export function forecastMonth(
  before: History,
  { days, included, paid }: SpentSoFar,
): Row<CostForecast> | undefined {
  const [firstOfMonth] = [...days.keys()].toSorted();
  const history = {
    today: before.today,
    firstDay: before.firstDay ?? firstOfMonth,
    costAt: before.costAt,
    days: new Map([...before.days, ...days]),
  };
  const forecast = forecastOf(history);
  if (forecast === undefined) return undefined;
  const { list, method, soFar } = forecast;
  const net = soFar.list - included + netLater(forecast, history.today, paid);
  return { list: decimalOf(list), net: decimalOf(net), method };
}

interface DayOfMeter {
  readonly day: string | null;
  readonly meter: string | null;
  readonly firstDay: string | null;
  readonly list: string | null;
  readonly ms: string | null;
}

/** Reads the days before this month, and what all of them cost at other prices. */
export async function historyOf(
  { db, teams }: Pick<Ctx, 'db' | 'teams'>,
  { teamId, today, currency }: { readonly teamId: string; readonly today: string; readonly currency: string },
): Promise<History> {
  const [from, month] = [historyFrom(today), monthOf(today)];
  const nanosOn = await nanosByDay(db.behind, currency);
  const rows = await db.behind.sql<DayOfMeter[]>`
    with first as (
      select min(day) as day from cost_days where team_id = ${teamId} and period = (select min(period) from cost_days where team_id = ${teamId})
    ),
    days as (
      select day, price_id, sum(metered_ms) as ms from cost_days
      where team_id = ${teamId} and team_id = any(${teams.teamIds}::text[])
        and period >= date_trunc('month', ${from}::date)::date and period <= ${month}::date and day >= ${from}::date
      group by day, price_id
    )
    select d.day::text, p.meter, f.day::text as "firstDay", sum(d.ms * p.nanos_per_second)::text as list, sum(d.ms)::text as ms
    from first f left join days d on true left join prices p on p.id = d.price_id group by 1, 2, 3`;
  const meters = rows.flatMap(({ day, meter, list, ms }): MeterDay[] =>
    day === null || meter === null || list === null || ms === null
      ? []
      : [{ day, meter, list: BigInt(list), ms: BigInt(ms) }],
  );
  const firstDay = rows[0]?.firstDay ?? undefined;
  const before = meters.filter(({ day }) => day < month);
  return { today, firstDay, days: spentOf(before), costAt: costAt(meters, nanosOn) };
}

/** Returns what each day came to. */
export function spentOf(meters: readonly MeterDay[]): ReadonlyMap<string, Spent> {
  const days = new Map<string, Spent>();
  for (const { day, list, ms } of meters) {
    const { list: other, ms: otherMs } = days.get(day) ?? { list: 0n, ms: 0 };
    days.set(day, { list: other + list, ms: otherMs + Number(ms) });
  }
  return days;
}
