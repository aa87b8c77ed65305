/** What a month is likely to come to. */
import { addDays, countDays, monthOf } from '../metering/index.ts';
import { monthAfter, type PaidMonth } from '../plans/index.ts';
import { median } from './median.ts';
import type { CostAt } from './priced-days.ts';

export interface Spent {
  /** Pico-units. */
  readonly list: bigint;
  readonly ms: number;
}

export interface History {
  /** `YYYY-MM-DD`. */
  readonly today: string;
  /** First day that anything was metered on. Absent: nothing was. */
  readonly firstDay?: string | undefined;
  /** Days of this month, with today, and of four weeks before today. Days without usage may be missing. */
  readonly days: ReadonlyMap<string, Spent>;
  /** Default: what each day cost. Days that are left are at the prices of their own. */
  readonly costAt?: CostAt | undefined;
}

export interface Forecast extends Spent {
  readonly method: 'weekdays' | 'linear';
  /** Part of it that is already spent. */
  readonly soFar: Spent;
}

const WEEKS = 4;
/** Below it no weekday has been there twice. */
const HISTORY_DAYS_MIN = 14;
/** Day of the month from which on there is a forecast. */
const FIRST_DAY = 3;
const NOTHING: Spent = { list: 0n, ms: 0 };

/** Returns the first day that a forecast looks back to. */
export function historyFrom(today: string): string {
  const weeks = addDays(today, -7 * WEEKS);
  const month = monthOf(today);
  return weeks < month ? weeks : month;
}

/**
 * List price and time of the whole month: what was spent on complete days, and what today and each day that
 * is left are likely to take, which for today is no less than it took already. Before the month's third day
 * none.
 */
export function forecastOf(history: History): Forecast | undefined {
  const { today, firstDay = today, days, costAt } = history;
  const month = monthOf(today);
  if (countDays(month, today) + 1 < FIRST_DAY) return undefined;
  const on = (day: string): Spent => days.get(day) ?? NOTHING;
  const gone = range(month, today);
  const complete = gone.map(on);
  const isLinear = countDays(firstDay, today) < HISTORY_DAYS_MIN;
  const usual = (n: number): Spent => {
    const asOn = addDays(today, n);
    const pricedOn = (day: string): Spent => ({ ...on(day), list: costAt?.(day, asOn) ?? on(day).list });
    if (isLinear) return part(sum(gone.map(pricedOn)), countDays(firstDay > month ? firstDay : month, today));
    return medianOf(sameWeekdays(today, n).flatMap((day) => (day < firstDay ? [] : [pricedOn(day)])));
  };
  const left = range(today, monthAfter(month)).map((_day, n) =>
    n === 0 ? atLeast(usual(0), on(today)) : usual(n),
  );
  return {
    ...sum([...complete, ...left]),
    method: isLinear ? 'linear' : 'weekdays',
    soFar: sum([...complete, on(today)]),
  };
}

/**
 * Net costs of what is still to be spent: its list price, but for what is left of the pool, shared by time
 * with the payer's other teams, which go on as up to now. Without a payer's month nothing is left.
 */
export function netLater(
  { list, ms, soFar }: Forecast,
  today: string,
  paid: Pick<PaidMonth, 'poolMs' | 'usedMs'> | undefined,
): bigint {
  const listLater = list - soFar.list;
  const free = paid === undefined ? 0 : Math.max(0, paid.poolMs - paid.usedMs);
  if (paid === undefined || free === 0) return listLater;
  const month = monthOf(today);
  const [gone, left] = [countDays(month, today), countDays(today, monthAfter(month))].map(BigInt) as [
    bigint,
    bigint,
  ];
  const others = (BigInt(Math.max(0, paid.usedMs - soFar.ms)) * left) / gone;
  const later = BigInt(ms - soFar.ms) + others;
  return BigInt(free) >= later ? 0n : listLater - (listLater * BigInt(free)) / later;
}

/** Complete days with the weekday of the day that is `n` days from today. */
function sameWeekdays(today: string, n: number): string[] {
  return Array.from({ length: WEEKS }, (_week, before) => addDays(today, (n % 7) - 7 * (before + 1)));
}

function range(first: string, end: string): string[] {
  return Array.from({ length: countDays(first, end) }, (_day, n) => addDays(first, n));
}

function sum(all: readonly Spent[]): Spent {
  return all.reduce((total, { list, ms }) => ({ list: total.list + list, ms: total.ms + ms }), NOTHING);
}

/** This returns the average of a day; of no days it is nothing. */
function part({ list, ms }: Spent, days: number): Spent {
  return days < 1 ? NOTHING : { list: list / BigInt(days), ms: Math.floor(ms / days) };
}

function atLeast(a: Spent, b: Spent): Spent {
  return { list: a.list > b.list ? a.list : b.list, ms: Math.max(a.ms, b.ms) };
}

function medianOf(all: readonly Spent[]): Spent {
  return { list: median(all.map(({ list }) => list)), ms: Number(median(all.map(({ ms }) => BigInt(ms)))) };
}
