/**
 * This module tells which line is where, in pixels from the top of the first. A line that is wrapped has the
 * height of several, one that is folded away none. Heights follow from the lengths of lines, so that nothing
 * is measured, and those of full blocks are added up once.
 */
import { lastNotAbove } from './last-not-above.ts';
import type { LogBlock } from './log-block.ts';
import { blockIndexOf, type Heading, type LogLines } from './log-lines.ts';

/** Height of a row of text; the same stands in log.css. */
export const ROW_PX = 20;
/** By so much a heading is higher, which is pressed to fold what is below it. */
const HEADING_MORE_PX = 4;

/** Lines from the first number up to the one before the second. */
export type Span = readonly [from: number, to: number];

export interface PlacedLine {
  readonly number: number;
  readonly top: number;
  readonly height: number;
}

export interface LogLayout {
  /** Height of all lines. */
  readonly height: number;
  /** Number of the first line. */
  readonly first: number;
  /** Top of a line; of one that is folded away that of the next line in view. */
  topOf(line: number): number;
  /** The line that is there; below all of them the last. */
  lineAt(px: number): number;
  /** Lines of which a part is there. */
  between(fromPx: number, toPx: number): readonly PlacedLine[];
}

/** Says how lines are shown, and stays the same object as long as nothing of it changes. */
export interface Shape {
  /** Columns in which lines are wrapped; 0: they are not. */
  readonly columns: number;
  /** Lines that are folded away, in order and apart. */
  readonly hidden: readonly Span[];
}

/** Heights of full blocks in a shape. */
const added = new WeakMap<Shape, WeakMap<LogBlock, number>>();

export function layoutOf(
  { blocks, headings }: Pick<LogLines, 'blocks' | 'headings'>,
  shape: Shape,
): LogLayout {
  const known = added.get(shape) ?? new WeakMap<LogBlock, number>();
  added.set(shape, known);
  const heights = heightsIn(shape, headings);
  const tops: number[] = [];
  let all = 0;
  for (const block of blocks) {
    tops.push(all);
    const own = known.get(block) ?? heights.ofBlock(block);
    if (block.isFull) known.set(block, own);
    all += own;
  }
  const first = blocks[0]?.first ?? 1;
  const end = blocks.at(-1);
  const last = end === undefined ? 0 : end.first + end.count - 1;

  /** Lines in view, from the one on that is there. */
  function* from(px: number): Generator<PlacedLine> {
    // Blocks that are folded away begin where the next one does: the last of them is there.
    let at = lastNotAbove(blocks.length, (index) => tops[index] ?? 0, Math.max(0, px));
    for (let top = tops[at] ?? 0; at < blocks.length; at += 1) {
      const block = blocks[at];
      for (let index = 0; block !== undefined && index < block.count; index += 1) {
        const height = heights.of(block, index);
        if (height > 0 && top + height > px) yield { number: block.first + index, top, height };
        top += height;
      }
    }
  }
  return {
    height: all,
    first,
    topOf: (line) => {
      const wanted = Math.min(Math.max(line, first), last + 1);
      const at = blockIndexOf(blocks, wanted);
      const block = blocks[at];
      let top = tops[at] ?? 0;
      for (let index = 0; block !== undefined && index < wanted - block.first; index += 1)
        top += heights.of(block, index);
      return top;
    },
    lineAt: (px) => {
      for (const { number } of from(px)) return number;
      return last;
    },
    between: (fromPx, toPx) => {
      const placed: PlacedLine[] = [];
      for (const each of from(fromPx)) {
        if (each.top >= toPx) break;
        placed.push(each);
      }
      return placed;
    },
  };
}

function heightsIn({ columns, hidden }: Shape, headings: readonly Heading[]) {
  const high = new Set(headings.map(({ line }) => line));
  const of = (block: LogBlock, index: number): number => {
    const line = block.first + index;
    if (hidden.length > 0 && isHidden(hidden, line)) return 0;
    const rows = columns === 0 ? 1 : Math.max(1, Math.ceil(block.columns(index) / columns));
    return rows * ROW_PX + (high.has(line) ? HEADING_MORE_PX : 0);
  };
  return {
    of,
    ofBlock: (block: LogBlock): number => {
      const end = block.first + block.count;
      const isOneEach =
        columns === 0 &&
        !hidden.some(([from, to]) => from < end && to > block.first) &&
        !headings.some(({ line }) => line >= block.first && line < end);
      if (isOneEach) return block.count * ROW_PX;
      let height = 0;
      for (let index = 0; index < block.count; index += 1) height += of(block, index);
      return height;
    },
  };
}

function isHidden(hidden: readonly Span[], line: number): boolean {
  const at = lastNotAbove(hidden.length, (index) => hidden[index]?.[0] ?? 0, line);
  const [begin, end] = hidden[at] ?? [0, 0];
  return line >= begin && line < end;
}

/** Lines below a heading: up to the next one of its level or an outer one. */
export function below(headings: readonly Heading[], index: number): Span {
  const { line = 0, level = 0 } = headings[index] ?? {};
  const next = headings.slice(index + 1).find((each) => each.level <= level);
  return [line + 1, next?.line ?? Number.POSITIVE_INFINITY];
}

/** Lines that are folded away under these headings; one fold may lie in another. */
export function hiddenBelow(headings: readonly Heading[], folded: ReadonlySet<number>): readonly Span[] {
  const hidden: Span[] = [];
  for (const [index, { line }] of headings.entries()) {
    const [, covered] = hidden.at(-1) ?? [0, 0];
    if (!folded.has(line) || line < covered) continue;
    hidden.push(below(headings, index));
  }
  return hidden;
}
