/** Lays out a table that fits the terminal. It is pure. */
import { colorOfState, type Paint } from './color.ts';
import { displayWidth, padEnd, truncate } from './text.ts';

const GAP = '  ';
/** Narrower than this a column says nothing any more; the terminal wraps instead. */
const COLUMN_WIDTH_MIN = 8;

export interface Column {
  readonly heading: string;
  /** Never cut: an id or a key is there to be copied. */
  readonly whole: boolean;
}

/**
 * Returns widths that fit `width` columns in total as far as possible: the widest column that may shrink
 * gives way first.
 */
export function columnWidths(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number,
): number[] {
  const widths = columns.map(({ heading }, index) =>
    Math.max(displayWidth(heading), ...rows.map((row) => displayWidth(row[index] ?? ''))),
  );
  const total = (): number => widths.reduce((sum, one) => sum + one, 0) + GAP.length * (columns.length - 1);
  while (total() > width) {
    let widest = -1;
    for (const [index, column] of columns.entries()) {
      const size = widths[index] ?? 0;
      if (!column.whole && size > COLUMN_WIDTH_MIN && size > (widths[widest] ?? 0)) widest = index;
    }
    if (widest === -1) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return widths;
}

export function formatHeader(columns: readonly Column[], widths: readonly number[], paint: Paint): string {
  const cells = columns.map(({ heading }, index) =>
    padEnd(truncate(heading, widths[index] ?? 0), widths[index] ?? 0),
  );
  return paint('bold', cells.join(GAP).trimEnd());
}

export function formatRow(
  row: readonly string[],
  { columns, widths }: { readonly columns: readonly Column[]; readonly widths: readonly number[] },
  paint: Paint,
): string {
  const cells = row.map((cell, index) => {
    const shown = columns[index]?.whole === true ? cell : truncate(cell, widths[index] ?? 0);
    const isLast = index === row.length - 1;
    const padded = isLast ? shown : padEnd(shown, widths[index] ?? 0);
    const color = colorOfState(cell);
    return color === undefined ? padded : paint(color, padded);
  });
  return cells.join(GAP).trimEnd();
}
