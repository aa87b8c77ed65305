/** Draws a chart on a canvas. Colours are read from the page, so that they are those of its theme. */
import UPlot from 'uplot';
import { stacked, type ChartData, type ChartSeries } from './chart-data.ts';

export interface DrawingProps {
  readonly data: ChartData;
  /** A colour a series, as the browser has it. */
  readonly colours: readonly string[];
  readonly markColour: string;
  /** Writes a value at the axis. */
  readonly write: (value: number) => string;
  /** A point is pointed at, or none any more. */
  readonly onPoint: (point: number | undefined) => void;
}

export interface Drawing {
  /** Shows the line at a point, or none. */
  pointAt(point: number | undefined): void;
  /** Distance of a point from the left side. */
  leftOf(point: number): number;
  end(): void;
}

/** Space between labels of an axis. */
const LABELS_PX = 56;
const ROWS_PX = 28;
const AXIS_PX = 24;
/** Part of its place that a bar takes. */
const BAR = 0.76;
const BAR_PX_MAX = 40;
const OFF = { left: -10, top: -10 };

export function draw(element: HTMLElement, props: DrawingProps): Drawing {
  const { points } = props.data;
  const plot = new UPlot(optionsOf(element, props), dataOf(props.data), element);
  const resized = new ResizeObserver(() => plot.setSize(sizeOf(element)));
  resized.observe(element);
  const x = (point: number): number => plot.valToPos(point, 'x');
  return {
    pointAt: (point) =>
      plot.setCursor(point === undefined || points[point] === undefined ? OFF : { left: x(point), top: 0 }),
    leftOf: (point) => plot.over.offsetLeft + x(point),
    end: () => {
      resized.disconnect();
      plot.destroy();
    },
  };
}

const sizeOf = ({ clientWidth: width, clientHeight: height }: HTMLElement) => ({ width, height });

/** The stack is drawn from its top down: what is lower covers the rest of it. */
function dataOf(data: ChartData): UPlot.AlignedData {
  const values = data.kind === 'bars' ? stacked(data).toReversed() : data.series.map(joined);
  return [data.points.map((_, n) => n), ...values.map((each) => data.points.map((_, n) => each[n] ?? null))];
}

/** Joins the expected values to the last one that is known. */
function joined({ values, isAhead }: ChartSeries, _: number, [known]: readonly ChartSeries[]) {
  const last = known?.values.findLastIndex((each) => each !== undefined) ?? -1;
  return isAhead === true ? values.map((each, n) => (n === last ? known?.values[n] : each)) : values;
}

function optionsOf(element: HTMLElement, props: DrawingProps): UPlot.Options {
  const { points, kind } = props.data;
  const side = kind === 'bars' ? 0.5 : 0.25;
  return {
    ...sizeOf(element),
    padding: [16, 8, 0, 0],
    legend: { show: false },
    select: { show: false, left: 0, top: 0, width: 0, height: 0 },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
    scales: {
      x: { time: false, range: () => [-side, points.length - 1 + side] },
      y: { range: (_, _min, max) => [0, max > 0 ? max * 1.04 : 1] },
    },
    axes: axesOf(element, props),
    series: [{}, ...seriesOf(element, props)],
    hooks: {
      setCursor: [({ cursor }) => props.onPoint(cursor.idx ?? undefined)],
      draw: [(plot) => drawMarks(plot, props)],
    },
  };
}

function axesOf(element: HTMLElement, { data: { points }, write }: DrawingProps): UPlot.Axis[] {
  const { color: stroke, fontFamily, fontSize } = getComputedStyle(element);
  const font = `${fontSize} ${fontFamily}`;
  const line = getComputedStyle(element).borderTopColor;
  return [
    {
      stroke,
      font,
      size: AXIS_PX,
      gap: 6,
      space: LABELS_PX,
      incrs: [1, 2, 7, 14, 28, 56, 112, 224],
      grid: { show: false },
      ticks: { show: false },
      values: (_, at) => at.map((n) => points[n]?.tick ?? ''),
    },
    {
      stroke,
      font,
      gap: 6,
      space: ROWS_PX,
      size: (plot, texts) => widest(plot, texts ?? []),
      grid: { stroke: line, width: 1 },
      ticks: { show: false },
      values: (_, at) => at.map(write),
    },
  ];
}

function widest({ ctx, axes }: UPlot, texts: readonly string[]): number {
  const [font] = (axes[1]?.font as [string] | undefined) ?? [''];
  ctx.font = font;
  const widths = texts.map((text) => ctx.measureText(text).width / window.devicePixelRatio);
  return Math.ceil(Math.max(0, ...widths)) + 10;
}

function seriesOf(element: HTMLElement, { data, colours }: DrawingProps): UPlot.Series[] {
  if (data.kind === 'line')
    return data.series.map(({ isAhead, values }, n) => ({
      stroke: colours[n] ?? '',
      width: 2,
      spanGaps: true,
      points: {
        show: values.filter((each) => each !== undefined).length === 1,
        size: 6,
        fill: colours[n] ?? '',
      },
      ...(isAhead === true && { dash: [5, 5] }),
    }));
  const ground = getComputedStyle(element).backgroundColor;
  const paths = UPlot.paths.bars?.({ size: [BAR, BAR_PX_MAX] });
  return colours.toReversed().map((fill) => ({
    fill,
    stroke: ground,
    width: 1,
    points: { show: false },
    ...(paths !== undefined && { paths }),
  }));
}

/** Marks stand above their bars; why, is said in words where the point is shown. */
function drawMarks({ ctx, bbox, valToPos }: UPlot, { data, markColour }: DrawingProps): void {
  ctx.save();
  ctx.fillStyle = markColour;
  ctx.textAlign = 'center';
  ctx.textBaseline = 'bottom';
  ctx.font = `${12 * window.devicePixelRatio}px sans-serif`;
  for (const [n, { mark }] of data.points.entries())
    if (mark !== undefined) ctx.fillText('▼', valToPos(n, 'x', true), bbox.top - 1);
  ctx.restore();
}
