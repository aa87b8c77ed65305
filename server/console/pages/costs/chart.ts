/** Makes the two charts of a month: what each day costs by project, and what they add up to. */
import type { CostAnomaly, CostPart, CostSummary } from '@svc/sdk';
import { coloursOf } from '../../parts/chart-colours.ts';
import type { ChartData, ChartPoint, ChartSeries } from '../../parts/chart-data.ts';
import { day, partName, shortDay } from './words.ts';

/** Projects that have a series of their own. */
const SERIES_MAX = 5;
const NONE = 'No project';
export const MARK = 'stands out';

type Part = Pick<CostPart, 'id' | 'name' | 'others'>;

const idOf = ({ id }: Part): string => id ?? 'none';
const isRest = ({ others }: Part): boolean => others !== undefined;

/** All days of the UTC month that `since` begins. */
export function daysOfMonth(since: string): readonly string[] {
  const [year = 0, monthNumber = 1] = since.split('-').map(Number);
  const count = new Date(Date.UTC(year, monthNumber, 0)).getUTCDate();
  return Array.from({ length: count }, (_, n) => `${since.slice(0, 7)}-${String(n + 1).padStart(2, '0')}`);
}

export interface DaysOptions {
  readonly anomalies: readonly CostAnomaly[];
  /** Returns the address of a day. */
  readonly hrefOf: (day: string) => string;
}

/** Returns what each day costs at list price: the greatest projects of the month, and the rest in one. */
export function daysChart(
  { since, byDay, byProject }: Pick<CostSummary, 'since' | 'byDay' | 'byProject'>,
  { anomalies, hrefOf }: DaysOptions,
): ChartData {
  const all = byProject.filter((part) => !isRest(part));
  const own = all.slice(0, SERIES_MAX);
  const colours = coloursOf(own.map(idOf), all.map(idOf));
  const days = daysOfMonth(since);
  const byDate = new Map(byDay.map((each) => [each.day, each.projects]));
  const marked = new Set(anomalies.map((each) => each.day));
  const valuesOf = (isOf: (part: CostPart) => boolean) =>
    days.map((each) =>
      byDate
        .get(each)
        ?.filter(isOf)
        .reduce((sum, { list }) => sum + Number(list), 0),
    );
  const shown = new Set(own.map(idOf));
  const isOther = (part: CostPart): boolean => isRest(part) || !shown.has(idOf(part));
  const rest = byProject.length - own.length;
  return {
    kind: 'bars',
    points: days.map((each): ChartPoint => ({
      name: day(each),
      tick: shortDay(each),
      ...(byDate.has(each) && { href: hrefOf(each) }),
      ...(marked.has(each) && { mark: MARK }),
    })),
    series: [
      ...own.map((part): ChartSeries => ({
        name: partName(part, NONE),
        colour: colours.get(idOf(part)) ?? 'rest',
        values: valuesOf((each) => !isRest(each) && idOf(each) === idOf(part)),
      })),
      ...(rest > 0
        ? [{ name: partName({ others: rest }, NONE), colour: 'rest' as const, values: valuesOf(isOther) }]
        : []),
    ],
  };
}

/** Returns net costs of the month, added up day by day, and where the forecast ends. */
export function courseChart({ since, byDay, asOf, forecast }: CostSummary): ChartData {
  const days = daysOfMonth(since);
  const net = new Map(byDay.map((each) => [each.day, Number(each.net)]));
  const today = asOf.slice(0, 10);
  let sum = 0;
  const known = days.map((each) => (each > today ? undefined : (sum += net.get(each) ?? 0)));
  const isOver = known.at(-1) !== undefined;
  const ahead = days.map((_, n) =>
    n === days.length - 1 && forecast !== undefined ? Math.max(sum, Number(forecast.net)) : undefined,
  );
  return {
    kind: 'line',
    points: days.map((each) => ({ name: day(each), tick: shortDay(each) })),
    series: [
      { name: 'So far', colour: 'one', values: known },
      ...(forecast === undefined || isOver
        ? []
        : [{ name: 'Forecast', colour: 'one' as const, values: ahead, isAhead: true }]),
    ],
  };
}
