/**
 * Computes the geometry of the two drawings in parts of one, because the page stretches them to its width.
 */
import type { CostPart, CostSummary } from '@svc/sdk';

export interface Segment {
  /** Number of the series, from 0. The last one is the rest. */
  readonly series: number;
  /** Bottom and height. */
  readonly from: number;
  readonly size: number;
}

export interface Bar {
  readonly day: string;
  readonly segments: readonly Segment[];
}

export interface Bars {
  /** One for each day of the month. */
  readonly bars: readonly Bar[];
  /** Names of the series, the greatest first. */
  readonly series: ReadonlyArray<Pick<CostPart, 'id' | 'name' | 'others'>>;
  /** Costs of the highest day. */
  readonly highest: number;
}

/** Projects that have a colour of their own. */
const SERIES_MAX = 5;
const OTHERS = 'others';

const keyOf = ({ id, others }: Pick<CostPart, 'id' | 'others'>): string =>
  others === undefined ? (id ?? 'none') : OTHERS;

/** All days of the UTC month that `since` begins. */
export function daysOfMonth(since: string): readonly string[] {
  const [year = 0, monthNumber = 1] = since.split('-').map(Number);
  const count = new Date(Date.UTC(year, monthNumber, 0)).getUTCDate();
  return Array.from({ length: count }, (_, n) => `${since.slice(0, 7)}-${String(n + 1).padStart(2, '0')}`);
}

export function barsOf({
  since,
  byDay,
  byProject,
}: Pick<CostSummary, 'since' | 'byDay' | 'byProject'>): Bars {
  const own = byProject.filter(({ others }) => others === undefined).slice(0, SERIES_MAX);
  const rest = byProject.length - own.length;
  const series = rest > 0 ? [...own, { others: rest }] : own;
  const index = new Map(own.map((part, n) => [keyOf(part), n]));
  const byDate = new Map(byDay.map((each) => [each.day, each]));
  const highest = Math.max(0, ...byDay.map(({ list }) => Number(list)));
  const bars = daysOfMonth(since).map((day) => {
    const sizes = series.map(() => 0);
    for (const part of byDate.get(day)?.projects ?? []) {
      const n = index.get(keyOf(part)) ?? own.length;
      sizes[n] = (sizes[n] ?? 0) + Number(part.list);
    }
    return { day, segments: stacked(sizes, highest) };
  });
  return { bars, series, highest };
}

function stacked(sizes: readonly number[], highest: number): readonly Segment[] {
  let from = 0;
  return sizes.flatMap((value, series) => {
    const size = highest === 0 ? 0 : value / highest;
    if (size === 0) return [];
    const segment = { series, from, size };
    from += size;
    return [segment];
  });
}

export interface Course {
  /** Ends of days and the net costs up to then. */
  readonly known: ReadonlyArray<readonly [x: number, y: number]>;
  /** Points from the last day that is known to the end of the month. */
  readonly ahead: ReadonlyArray<readonly [x: number, y: number]>;
  readonly highest: number;
}

/** Net costs of the month, added up day by day, and on to the forecast. */
export function courseOf({ since, byDay, asOf, forecast }: CostSummary): Course {
  const days = daysOfMonth(since);
  const today = Math.min(days.length, days.filter((day) => day <= asOf.slice(0, 10)).length);
  const net = new Map(byDay.map((each) => [each.day, Number(each.net)]));
  let sum = 0;
  const sums = days.slice(0, today).map((day) => (sum += net.get(day) ?? 0));
  const end = forecast === undefined ? undefined : Math.max(sum, Number(forecast.net));
  const highest = Math.max(sum, end ?? 0);
  const at = (dayCount: number, value: number) =>
    [dayCount / days.length, highest === 0 ? 0 : value / highest] as const;
  const known = [at(0, 0), ...sums.map((value, n) => at(n + 1, value))];
  const last = known.at(-1);
  return {
    known,
    ahead:
      end === undefined || last === undefined || today === days.length ? [] : [last, at(days.length, end)],
    highest,
  };
}
