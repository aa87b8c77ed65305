/** Pieces of SQL that statements of several features share. */
import type { SqlTag } from './db/index.ts';
import { idHead } from './ids.ts';

/** A piece to be put into another statement. */
export type Fragment = ReturnType<SqlTag>;

/** Returns milliseconds as an interval that SQL adds to times. */
export function ms(sql: SqlTag, count: number): Fragment {
  return sql`(${count}::float8 * interval '1 millisecond')`;
}

/** A fresh id for each row that a statement makes, see `idHead`. */
export function rowId(sql: SqlTag, prefix: 'dep' | 'evt' | 'job' | 'msg' | 'ntf'): Fragment {
  return sql`${idHead(prefix)}::text || substr(replace(gen_random_uuid()::text, '-', ''), 17, 16)`;
}

/** By the clock that dates builds and deployments. */
export async function databaseNow(sql: SqlTag): Promise<Date> {
  const [row] = await sql<Array<{ now: Date }>>`select date_trunc('milliseconds', clock_timestamp()) as now`;
  if (row === undefined) throw new Error('the database has no time');
  return row.now;
}
