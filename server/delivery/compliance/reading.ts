/** The parts of a package are read with this: one snapshot of the database, and the period. */
import type { TeamScope } from '../../kit/context.ts';
import type { Database } from '../../base/db/index.ts';
import type { Archive } from './archive.ts';

export interface Reading {
  /** The handle of the one transaction. */
  readonly db: Database;
  readonly teamId: string;
  readonly teams: TeamScope;
  readonly start: Date;
  /** The first moment behind what is covered. */
  readonly until: Date;
  readonly archive: Archive;
  readonly signal: AbortSignal;
}

/** A piece is read from behind the id, and has at most so many rows. */
export interface Piece {
  readonly after: string;
  readonly take: number;
}

/** The rows come in the order of their ids, piece by piece: `read` takes those behind an id. */
export async function* keyset<Row extends { readonly id: string }>(
  reading: Reading,
  take: number,
  read: (reading: Reading, piece: Piece) => Promise<readonly Row[]>,
): AsyncGenerator<readonly Row[]> {
  for (let after = ''; ;) {
    reading.signal.throwIfAborted();
    const rows = await read(reading, { after, take });
    const last = rows.at(-1);
    if (last === undefined) return;
    yield rows;
    if (rows.length < take) return;
    after = last.id;
  }
}

export function groupBy<Row>(
  rows: readonly Row[],
  keyOf: (row: Row) => string,
): ReadonlyMap<string, readonly Row[]> {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const same = groups.get(keyOf(row));
    if (same === undefined) groups.set(keyOf(row), [row]);
    else same.push(row);
  }
  return groups;
}
