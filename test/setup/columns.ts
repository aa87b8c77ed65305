/** Columns of one row are changed behind the server's back. The test decides which ones as it goes. */
import type { SqlTag, SqlValue } from '../../server/base/db/index.ts';

export async function setColumns(
  sql: SqlTag,
  table: string,
  { id, ...columns }: { readonly id: string; readonly [column: string]: unknown },
): Promise<void> {
  const changes = Object.keys(columns).map((name, at) => `${name} = $${at + 2}`);
  await sql.unsafe(`update ${table} set ${changes.join(', ')} where id = $1`, [
    id,
    ...(Object.values(columns) as SqlValue[]),
  ]);
}
