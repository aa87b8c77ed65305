/** Describes what a chart shows: points beside each other, and the values of each thing at them. */
import type { ChartColour } from './chart-colours.ts';

export interface ChartPoint {
  /** It is the whole name, such as that of a day. */
  readonly name: string;
  /** Stands below the axis where there is room. */
  readonly tick: string;
  readonly href?: string;
  /** Reason for its mark. */
  readonly mark?: string;
}

export interface ChartSeries {
  readonly name: string;
  readonly colour: ChartColour;
  /** A value a point; undefined where there is none. */
  readonly values: ReadonlyArray<number | undefined>;
  /** It is not known, but expected: its line is dashed. */
  readonly isAhead?: boolean;
}

export interface ChartData {
  /** Bars are stacked, the first series at the bottom; lines are not. */
  readonly kind: 'bars' | 'line';
  readonly points: readonly ChartPoint[];
  readonly series: readonly ChartSeries[];
}

/** Returns what the first series come to together at each point, for each number of them. */
export function stacked({ points, series }: Pick<ChartData, 'points' | 'series'>) {
  const sums = points.map(() => 0);
  return series.map(({ values }) =>
    points.map((_, n) => {
      const value = values[n] ?? 0;
      sums[n] = (sums[n] ?? 0) + value;
      return value === 0 ? undefined : sums[n];
    }),
  );
}

/** Returns what all series come to at a point. */
export const totalAt = ({ series }: Pick<ChartData, 'series'>, point: number): number =>
  series.reduce((sum, { values }) => sum + (values[point] ?? 0), 0);

export const isKnownAt = ({ series }: Pick<ChartData, 'series'>, point: number): boolean =>
  series.some(({ values }) => values[point] !== undefined);
