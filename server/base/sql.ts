/** Pieces of SQL that statements of several features share. */
import type { SqlTag } from './db/index.ts';
import { idHead } from './ids.ts';

/** A piece to be put into another statement. */
export type Fragment = ReturnType<SqlTag>;

type JsonRows = Parameters<SqlTag['json']>[0] & readonly unknown[];

/** Returns milliseconds as an interval that SQL adds to times. */
export function ms(sql: SqlTag, count: number): Fragment {
  return sql`(${count}::float8 * interval '1 millisecond')`;
}

/**
 * Selects rows that a statement brings along, by their names and types, for what is to be looked up of each.
 * The limits take nothing away. The planner takes a function for a hundred rows, finds it cheaper to read
 * every entry of an index than to look up a hundred of a table that is small yet, and keeps that plan while
 * the table grows. For a limit that it does not know it plans a tenth.
 */
export function fewRows(sql: SqlTag, rows: JsonRows, columns: Fragment): Fragment {
  const few = sql`limit ${rows.length}::int`;
  return sql`
    select * from (select * from json_to_recordset(${sql.json(rows)}::json) as r(${columns}) ${few}) r ${few}`;
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
