/** Rows of the outbox that a statement makes for several things at once. */
import type { SqlTag } from '../platform/db/index.ts';
import { idHead } from '../platform/ids.ts';
import type { Fragment } from './sql.ts';

/** A fresh id for each row, see `idHead`. */
export function rowId(sql: SqlTag, prefix: 'evt' | 'msg' | 'ntf'): Fragment {
  return sql`${idHead(prefix)}::text || substr(replace(gen_random_uuid()::text, '-', ''), 17, 16)`;
}
