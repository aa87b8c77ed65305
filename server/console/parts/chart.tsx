/**
 * Shows values over points, such as costs by day: a drawing with axes, what is at a point for who points at
 * it or goes there by keys, and the same figures as a table. Its code is fetched with the pages that have
 * one.
 */
import { useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { theme } from '../theme.ts';
import { isKnownAt, type ChartData } from './chart-data.ts';
import { draw, type Drawing } from './chart-drawing.ts';
import { Swatch } from './chart-swatch.tsx';
import { ChartTable } from './chart-table.tsx';
import { ChartTip, textAt } from './chart-tip.tsx';

export interface ChartProps {
  /** Says what it shows, such as `List price by day and project`. */
  readonly label: string;
  /** Unit of the values, such as `USD a day`. */
  readonly unit: string;
  /** Name of what the points are, such as `Day`. */
  readonly of: string;
  readonly data: ChartData;
  readonly write: (value: number) => string;
  /** Further columns of the table, a text a point. */
  readonly also?: ReadonlyArray<{ readonly name: string; readonly texts: readonly string[] }>;
  /** Says what marks of points mean. */
  readonly marks?: string;
}

export function Chart(props: ChartProps) {
  const { data, label, unit, marks } = props;
  const isMarked = data.points.some(({ mark }) => mark !== undefined);
  const figure = useRef<HTMLElement>(null);
  return (
    <figure ref={figure} class={`chart chart-${data.kind}`} aria-label={label}>
      <p class="chart-unit muted">{unit}</p>
      <Plot {...props} figure={figure} />
      <ul class="chart-names">
        {data.series.map((series, n) => (
          <li key={n}>
            <Swatch of={series} />
            {series.name}
          </li>
        ))}
        {isMarked && (
          <li>
            <span class="chart-mark" aria-hidden="true">
              ▼
            </span>
            {marks}
          </li>
        )}
      </ul>
      <details class="fold">
        <summary>The same as a table</summary>
        <ChartTable {...props} />
      </details>
    </figure>
  );
}

interface PlotProps extends ChartProps {
  readonly figure: { readonly current: HTMLElement | null };
}

/**
 * It is a slider without a handle: arrows go from point to point, and what is there is its value in words.
 */
function Plot({ label, data, write, figure }: PlotProps) {
  const element = useRef<HTMLDivElement>(null);
  const drawing = useRef<Drawing | undefined>(undefined);
  const at = useSignal<number | undefined>(undefined);
  const last = useRef(lastKnown(data));
  const scheme = useScheme();
  useLayoutEffect(() => {
    const here = element.current;
    if (here === null) return undefined;
    const colourOf = (name: string): string[] =>
      [...(figure.current?.querySelectorAll(name) ?? [])].map((each) => getComputedStyle(each).color);
    const made = draw(here, {
      data,
      colours: colourOf('.chart-names .chart-swatch'),
      markColour: colourOf('.chart-names .chart-mark')[0] ?? '',
      write,
      onPoint: (point) => {
        at.value = point;
        if (point !== undefined) last.current = point;
      },
    });
    drawing.current = made;
    return () => made.end();
  }, [JSON.stringify(data), scheme]);
  const go = (point: number | undefined): void => drawing.current?.pointAt(point);
  const onKeyDown = (event: KeyboardEvent): void => {
    const next = stepped(event, at.peek() ?? last.current, data.points.length);
    if (next === 'stay') return;
    event.preventDefault();
    go(next);
  };
  const shown = at.value ?? Math.min(last.current, data.points.length - 1);
  return (
    <div
      class="chart-plot"
      role="slider"
      tabIndex={0}
      aria-label={label}
      aria-readonly="true"
      aria-valuemin={0}
      aria-valuemax={data.points.length - 1}
      aria-valuenow={shown}
      aria-valuetext={textAt(data, shown, write)}
      onKeyDown={onKeyDown}
      onFocus={() => go(last.current)}
      onBlur={() => go(undefined)}
    >
      <div ref={element} class="chart-drawing" />
      {at.value !== undefined && (
        <ChartTip data={data} at={at.value} left={drawing.current?.leftOf(at.value) ?? 0} write={write} />
      )}
    </div>
  );
}

const darkness = window.matchMedia('(prefers-color-scheme: dark)');

/** Returns a text that changes with the theme, here and in the system. */
function useScheme(): string {
  const isDark = useSignal(darkness.matches);
  useEffect(() => {
    const take = (): void => void (isDark.value = darkness.matches);
    darkness.addEventListener('change', take);
    return () => darkness.removeEventListener('change', take);
  }, []);
  return `${theme.value} ${isDark.value}`;
}

function lastKnown(data: ChartData): number {
  const found = data.points.findLastIndex((_, n) => isKnownAt(data, n));
  return found === -1 ? data.points.length - 1 : found;
}

/** Returns the point that a key leads to; undefined leaves all of them. */
function stepped(event: KeyboardEvent, at: number, count: number): number | undefined | 'stay' {
  if (event.altKey || event.ctrlKey || event.metaKey) return 'stay';
  switch (event.key) {
    case 'ArrowLeft':
    case 'ArrowDown':
      return Math.max(0, at - 1);
    case 'ArrowRight':
    case 'ArrowUp':
      return Math.min(count - 1, at + 1);
    case 'Home':
      return 0;
    case 'End':
      return count - 1;
    case 'Escape':
      return undefined;
    default:
      return 'stay';
  }
}
