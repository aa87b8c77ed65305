/**
 * The generation of the database is the fence against a lost future. With asynchronous replication a
 * promotion loses what the standby had not got, a restored dump loses all that came after it, and what was
 * granted in that time was granted to somebody: the same epoch must never be granted again. So a database
 * that went back begins a new generation, and each generation has epochs of its own.
 *
 * Epochs are int4, so there are 32,767 generations after the first, a promotion a day for 89 years; the table
 * refuses the next one. An item may be granted 65,535 times in one generation before its epochs reach those
 * of the next.
 */
import type { Fragment, SqlTag } from './statement.ts';

export interface GenerationState {
  readonly generation: number;
  /** It was made for the history that the database is on; nobody says otherwise of a standby. */
  readonly isCurrent: boolean;
}

export async function readHistory(sql: SqlTag): Promise<GenerationState> {
  const [row] = await sql<GenerationState[]>`
    select generation, coalesce(made_for = database_origin(), true) as "isCurrent" from database_generation where one = 1`;
  return { generation: row?.generation ?? 0, isCurrent: row?.isCurrent === true };
}

/**
 * The epoch of the next grant of a row whose column is `epoch`: above all that were granted in this history
 * of the database and in any that was lost.
 */
export function nextEpoch(sql: SqlTag, epoch: Fragment): Fragment {
  return sql`greatest(${epoch} + 1, (select g.generation * 65536 + 1 from database_generation g where g.one = 1))`;
}
