/** Says what is at a point of a chart. */
import { totalAt, type ChartData } from './chart-data.ts';
import { Swatch } from './chart-swatch.tsx';

interface ChartTipProps {
  readonly data: ChartData;
  readonly at: number;
  /** Distance of the point from the left side. */
  readonly left: number;
  readonly write: (value: number) => string;
}

/** A bar of nothing is not said, a line at nothing is. */
function seriesAt({ series, kind }: ChartData, at: number) {
  return series.flatMap((each) => {
    const value = each.values[at];
    return value === undefined || (value === 0 && kind === 'bars') ? [] : [{ series: each, value }];
  });
}

export function textAt(data: ChartData, at: number, write: ChartTipProps['write']): string {
  const parts = seriesAt(data, at).map(({ series: { name }, value }) => `${name} ${write(value)}`);
  const { name, mark } = data.points[at] ?? {};
  return [name, mark, ...(parts.length === 0 ? ['nothing'] : parts)].filter(Boolean).join(', ');
}

/** Stands beside the point, on the side that has room; what it says the plot says to screen readers. */
export function ChartTip({ data, at, left, write }: ChartTipProps) {
  const parts = seriesAt(data, at);
  const { name, mark } = data.points[at] ?? {};
  const isLate = at >= data.points.length / 2;
  return (
    <div
      class={isLate ? 'chart-tip chart-tip-late' : 'chart-tip'}
      style={{ '--chart-at': `${left}px` }}
      aria-hidden="true"
    >
      <strong>{name}</strong>
      {mark !== undefined && <p class="chart-mark">▼ {mark}</p>}
      {parts.length === 0 && <p>Nothing</p>}
      {parts.map(({ series, value }, n) => (
        <p key={n}>
          <Swatch of={series} />
          <span class="chart-tip-name">{series.name}</span>
          <span>{write(value)}</span>
        </p>
      ))}
      {data.kind === 'bars' && parts.length > 1 && (
        <p class="chart-tip-all">
          <span>All</span>
          <span>{write(totalAt(data, at))}</span>
        </p>
      )}
    </div>
  );
}
