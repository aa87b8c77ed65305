/**
 * Cancels an item. Queued: it ends in this statement. Offered or running: the wish is noted and told to the
 * holder with its next call; a holder that never calls again loses the item when its lease ends, and the
 * sweeper ends it.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { SqlTag } from '../../base/db/index.ts';
import { settleBuilds } from './build-sql.ts';
import { announce, endedColumns, wiped } from './sql.ts';
import type { WorkState } from './words.ts';

export interface Cancelled {
  readonly state: WorkState;
  readonly runnerId: string | null;
  /** This call made the difference, and a runner must be told. */
  readonly notifyRunner: boolean;
}

/** Returns undefined when there is no such item in these teams. */
export async function cancel(
  sql: SqlTag,
  teamIds: readonly string[],
  id: string,
): Promise<Cancelled | undefined> {
  const [row] = await sql<Cancelled[]>`
    with item as (
      select w.id, w.state, w.runner_id, w.cancel_requested_at from work_items w
      where w.id = ${id} and w.team_id = any(${teamIds}::text[]) for update
    ),
    ended as (
      update work_items w set
        cancel_requested_at = clock_timestamp(),
        state = case when w.state = 'queued' then 'cancelled' else w.state end,
        ${wiped(sql, sql`w.state = 'queued'`)},
        finished_at = case when w.state = 'queued' then clock_timestamp() end,
        reason = case when w.state = 'queued' then 'cancelled' end
      from item i
      where w.id = i.id and w.state in ('queued', 'offered', 'running') and w.cancel_requested_at is null
      returning ${endedColumns(sql)}
    ),
    ${settleBuilds(sql, 'ended', { lost: false })},
    ${announce(sql, 'ended')}
    select coalesce(e.state, i.state) as state, i.runner_id as "runnerId", coalesce(e.state in ('offered', 'running'), false) as "notifyRunner"
    from item i left join ended e on e.id = i.id`;
  return row;
}
