/** Failures are kept for 180 days; what was not green within 7 days is not waited for any longer. */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { SqlTag } from '../../base/db/index.ts';
import { giveUp } from './resolve.ts';

const KEPT_DAYS = 180;
/** Rows of one pass, which comes every hour. */
const PURGED_MAX = 10_000;

export async function purgeFailures(sql: SqlTag, now: Date): Promise<void> {
  await giveUp(sql, now);
  await sql`
    delete from failure_occurrences where id = any(array(
      select id from failure_occurrences where at < ${now}::timestamptz - ${KEPT_DAYS}::int * interval '1 day' order by at limit ${PURGED_MAX}))`;
  await sql`
    delete from failure_signatures where id = any(array(
      select id from failure_signatures where last_seen_at < ${now}::timestamptz - ${KEPT_DAYS}::int * interval '1 day'
      order by last_seen_at limit ${PURGED_MAX}))`;
}
