/**
 * Ends leases that a runner gives back: its earlier process died with them, and of their work nothing runs
 * any more. One statement, fenced by runner and epoch: what was reported, taken back or granted again
 * meanwhile is left alone.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { SqlTag } from '../../base/db/index.ts';
import { fewRows } from '../../base/sql.ts';
import type { LeaseRef } from './heartbeat.ts';
import type { WorkSettings } from './settings.ts';
import { release } from './sql.ts';
import { noteLost, type Swept } from './sweeper.ts';

/** The caller has been found to be the runner's current process. */
export async function giveBack(
  sql: SqlTag,
  settings: WorkSettings,
  { runnerId, leases }: { readonly runnerId: string; readonly leases: readonly LeaseRef[] },
): Promise<readonly Swept[]> {
  if (leases.length === 0) return [];
  const held = leases.map(({ id, epoch }) => ({ id, epoch }));
  return await sql<Swept[]>`
    with ${release(sql, settings, {
      lost: sql`
        where x.runner_id = ${runnerId} and x.ended_at is null
          and (x.work_id, x.epoch) in (${fewRows(sql, held, sql`id text, epoch bigint`)})
        order by x.work_id for update of x, w`,
      endReason: 'expired',
      backoff: true,
    })},
    ${noteLost(sql, ' ran and its daemon died')}
    select e.id, e.state, e.runner_id as "runnerId" from released e`;
}
