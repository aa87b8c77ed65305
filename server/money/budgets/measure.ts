/** What budgets have spent, and what their month is likely to come to. */
import type { SqlTag } from '../../base/db/index.ts';
import { picoOf } from '../amounts/index.ts';
import { costAt, forecastOf, netLater, spentOf, type MeterDay } from '../costs/index.ts';
import { countDays, nanosByDay, type NanosOn } from '../metering/index.ts';
import { monthAfter, paidMonths, type PaidMonth, type Pricing } from '../plans/index.ts';
import { isExceeded, percentOf } from './figures.ts';
import { monthAt, type Month } from './months.ts';
import { readDays, readSpent, type BudgetRow, type Day, type SpentRow } from './spent.ts';

export interface Measured extends BudgetRow {
  /** Name of its project, environment or team, as it was last metered. */
  readonly name: string | null;
  /** Net costs of the month, in pico-units. */
  readonly spent: bigint;
  readonly percentUsed: number;
  /** A limit of 0 that holds, and nothing is included any more: whatever came next would exceed it. */
  readonly refusesAll: boolean;
  /**
   * Net costs of the whole month; undefined before its third day, and where `forecasts` leaves it out.
   * Computed when it is asked for.
   */
  forecast(): bigint | undefined;
  /** No forecast is greater: as much as on the dearest day, on each day that is left. */
  readonly forecastMax: bigint;
}

export interface Measuring extends Pricing {
  readonly teamIds: readonly string[];
  readonly now: Date;
  /**
   * Budgets that have one: with `news` those that may be exceeded, where nobody was told of that. The default
   * is all.
   */
  readonly forecasts?: 'all' | 'news' | 'none';
}

export interface Measures {
  readonly month: Month;
  /** Months of those who pay for the teams, with all teams of each; none without a provider. */
  readonly payers: readonly PaidMonth[];
  /**
   * Budgets of the teams and of all others of their payers, in the order of teams, projects and environments.
   */
  readonly budgets: readonly Measured[];
}

/** Figures that an evaluation of these teams acts on. */
export interface Evaluated extends Measures, Measuring {}

export const scopeOf = ({ projectId, environmentId }: Pick<BudgetRow, 'projectId' | 'environmentId'>) => ({
  ...(projectId !== '' && { projectId }),
  ...(environmentId !== '' && { environmentId }),
});

export async function measure(
  sql: SqlTag,
  { teamIds, now, currency, charges, forecasts = 'all' }: Measuring,
): Promise<Measures> {
  const month = monthAt(now);
  const payers = charges ? await paidMonths({ sql }, { teamIds, period: month.period, charges }) : [];
  const all = charges ? payers.flatMap((payer) => payer.teamIds) : teamIds;
  const figures = (await readSpent(sql, { teamIds: all, month, payers })).map((row) =>
    figuresOf(row, { month, currency }),
  );
  const isWanted = { all: () => true, news: isNews, none: () => false }[forecasts];
  const wanted = figures.filter(isWanted);
  const days = await readDays(sql, { of: wanted, month });
  const nanosOn = await nanosByDay({ sql }, currency);
  const payerOf = new Map(payers.flatMap((payer) => payer.teamIds.map((id) => [id, payer] as const)));
  const forecastable = new Set(wanted.map(({ id }) => id));
  const budgets = figures.map(({ limit: _limit, isForetold: _isForetold, ...budget }): Measured => {
    const { id, teamId, spent } = budget;
    const payer = payerOf.get(teamId);
    const question = { spent, days: days.get(id) ?? [], payer, month, nanosOn };
    const refusesAll =
      budget.limitCents === 0 &&
      budget.enforcement === 'hold' &&
      (payer === undefined || payer.usedMs >= payer.poolMs);
    return {
      ...budget,
      refusesAll,
      forecast: () => (forecastable.has(id) ? forecastNet(question) : undefined),
    };
  });
  return { month, payers, budgets };
}

interface Figures extends Omit<Measured, 'forecast' | 'refusesAll'> {
  /** The limit, in pico-units. */
  readonly limit: bigint;
  readonly isForetold: boolean;
}

function figuresOf(
  { net, dearest, ...budget }: SpentRow,
  { month: { today, period }, currency }: { readonly month: Month; readonly currency: string },
): Figures {
  const spent = BigInt(net);
  const limit = picoOf(budget.limitCents, currency);
  const daysLeft = BigInt(countDays(today, monthAfter(period)));
  const forecastMax = spent + BigInt(dearest) * daysLeft;
  return { ...budget, spent, limit, percentUsed: percentOf(spent, limit), forecastMax };
}

function isNews({ enabled, isForetold, percentUsed, forecastMax, limit }: Figures): boolean {
  return enabled && !isForetold && !isExceeded(percentUsed) && forecastMax > limit;
}

interface Question {
  readonly spent: bigint;
  readonly days: readonly Day[];
  readonly payer: PaidMonth | undefined;
  readonly month: Month;
  readonly nanosOn: NanosOn;
}

/** As the summary of costs has it. */
function forecastNet({ spent, days, payer, nanosOn, month: { today } }: Question): bigint | undefined {
  const meters = days.map(([day, meter, list, ms]): MeterDay => ({
    day,
    meter,
    list: BigInt(list),
    ms: BigInt(ms),
  }));
  const byDay = spentOf(meters);
  const [firstDay] = [...byDay.keys()].toSorted();
  const forecast = forecastOf({ today, firstDay, days: byDay, costAt: costAt(meters, nanosOn) });
  return forecast && spent + netLater(forecast, today, payer);
}
