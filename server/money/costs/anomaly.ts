/** Days that stand out, in one series of costs. */
import { addDays, countDays } from '../metering/index.ts';
import { median } from './median.ts';
import type { CostAt } from './priced-days.ts';

export interface Series {
  /** First day that anything was metered on, `YYYY-MM-DD`. */
  readonly firstDay: string;
  /** List price in pico-units; days without usage may be missing. */
  readonly days: ReadonlyMap<string, bigint>;
  /** Default: what each day cost. */
  readonly costAt?: CostAt | undefined;
}

export interface Baseline {
  /** Days that it is made of. */
  readonly samples: readonly string[];
  readonly expected: bigint;
  /** Median of what the samples differ from it. */
  readonly deviation: bigint;
}

export interface Anomaly extends Baseline {
  readonly day: string;
  readonly actual: bigint;
  /** Percentage with one decimal; it is absent when nothing was expected. */
  readonly deviationPct: number | undefined;
}

/** Complete days that are looked at. */
export const DAYS_SEEN = 30;
const WEEKS = 8;
/** Days that are read, since the oldest day looks back so far. */
export const DAYS_READ = DAYS_SEEN + WEEKS * 7;
const WEEKDAYS_MIN = 3;
const DAYS_LATELY = 14;
/** With less nothing can be told. */
export const HISTORY_DAYS_MIN = 7;
/** Pico-units of a major unit. Less than one more is nobody's concern. */
export const DIFFERENCE_MIN = 10n ** 12n;

/**
 * This returns the baseline at the prices of the day: from the same weekday in up to eight weeks or, where
 * there are less than three of them, from the last fourteen days. It is undefined when there is too little
 * history.
 */
export function baselineOf({ firstDay, days, costAt }: Series, day: string): Baseline | undefined {
  if (countDays(firstDay, day) < HISTORY_DAYS_MIN) return undefined;
  const back = (count: number, step: number): string[] =>
    Array.from({ length: count }, (_day, n) => addDays(day, -step * (n + 1))).filter(
      (each) => each >= firstDay,
    );
  const weekdays = back(WEEKS, 7);
  const samples = weekdays.length < WEEKDAYS_MIN ? back(DAYS_LATELY, 1) : weekdays;
  const costs = samples.map((each) => costAt?.(each, day) ?? days.get(each) ?? 0n);
  const expected = median(costs);
  const deviation = median(costs.map((cost) => (cost > expected ? cost - expected : expected - cost)));
  return { samples, expected, deviation };
}

/** Three standard deviations: of a normal distribution one is 1.4826 times the median deviation. */
const SPREADS = { factor: 3n * 14_826n, of: 10_000n };

/** Returns the anomaly on a day, if there is one; `thresholdPct` is in percent above what is expected. */
export function anomalyOn(series: Series, day: string, thresholdPct: number): Anomaly | undefined {
  const baseline = baselineOf(series, day);
  if (baseline === undefined) return undefined;
  const { expected, deviation } = baseline;
  const actual = series.days.get(day) ?? 0n;
  const more = actual - expected;
  const stands =
    more >= DIFFERENCE_MIN &&
    more * 100n > expected * BigInt(thresholdPct) &&
    more * SPREADS.of >= deviation * SPREADS.factor;
  const deviationPct = expected === 0n ? undefined : Number((more * 1_000n) / expected) / 10;
  return stands ? { ...baseline, day, actual, deviationPct } : undefined;
}
