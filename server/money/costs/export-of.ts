/**
 * This file says what an export is of, and reads its rows in pieces, the next of which is on its way while
 * one is written.
 */
import { addDays } from '../metering/index.ts';
import type { ExportedTeam } from './charge.ts';
import type { CostDays } from './days.ts';
import type { Reader } from './export-account.ts';
import type { Names } from './names.ts';

export interface ExportOf extends ExportedTeam, CostDays {
  readonly reader: Reader;
  readonly names: Names;
  /** There is a provider of payments. */
  readonly charges: boolean;
}

/**
 * Rows that are read at once: few enough that a slow reader holds no memory, and a connection for some
 * milliseconds only.
 */
export const PIECE = 2_000;

/** Rows that are written at once: what is made of them is small enough to be forgotten soon. */
const SLICE = 250;

/** Reads piece after piece; `read` gives the piece behind a row, or the first one. */
export async function* pieces<Row>(
  read: (after: Row | undefined) => Promise<readonly Row[]>,
): AsyncGenerator<readonly Row[]> {
  let reading = read(undefined);
  for (;;) {
    const piece = await reading;
    const isLast = piece.length < PIECE;
    if (!isLast) {
      reading = read(piece.at(-1));
      // Nobody may ask for it any more; who does is told.
      reading.catch(() => undefined);
    }
    for (let at = 0; at < piece.length; at += SLICE) yield piece.slice(at, at + SLICE);
    if (isLast) return;
  }
}

let last = { day: '', next: '' };

/** Rows come day by day. */
export function nextDay(day: string): string {
  if (last.day !== day) last = { day, next: addDays(day, 1) };
  return last.next;
}
