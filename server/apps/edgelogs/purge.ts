/** Lines and counters of logs are kept for so long. What counts a log stays with its environment. */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { SqlTag } from '../../base/db/index.ts';

const LINES_DAYS = 7;
export const MINUTES_DAYS = 14;

export async function purgeLogs(sql: SqlTag): Promise<void> {
  await sql`delete from edge_log_segments where at < now() - ${LINES_DAYS}::int * interval '1 day'`;
  await sql`delete from edge_minutes where minute < now() - ${MINUTES_DAYS}::int * interval '1 day'`;
}
