/**
 * Marks of teams whose costs changed since they were held against budgets and plans. A mark that is there
 * already is locked until the writer's transaction ends, although nothing of it changes: otherwise it could
 * be taken between this statement and its commit, by an evaluation that does not see these costs yet, and
 * nobody would look at them again. An evaluation that has taken the mark is waited for.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { SqlTag } from '../../base/db/index.ts';
import type { EventEffect } from '../../kit/feature.ts';
import type { Fragment } from '../../base/sql.ts';

/** Marks in the order of teams, so that two writers wait for each other and never in a circle. */
function mark(sql: SqlTag, teams: Fragment): Fragment {
  return sql`insert into spend_dirty (team_id) ${teams} order by 1 on conflict (team_id) do update set team_id = excluded.team_id where false`;
}

export async function markDirty(sql: SqlTag, teamIds: readonly string[]): Promise<void> {
  await sql`${mark(sql, sql`select distinct unnest(${teamIds}::text[])`)}`;
}

/**
 * The CTE `spend_dirtied` marks teams of the metered work and of the changes of plan (a new one may begin
 * with a payment that failed) among the outbox rows of the CTE `published`. Of an installation that charges
 * all of them, since a plan may refuse more; else those with budgets.
 */
export function spendDirtied({ charges }: { readonly charges: boolean }): EventEffect {
  return (sql) => {
    const counts = charges
      ? sql`true`
      : sql`exists (select from budgets b where b.team_id = e.team_id and b.enabled)`;
    return sql`spend_dirtied as (
      ${mark(sql, sql`select distinct e.team_id from published e where (e.kind = 'work.finished' and e.payload ->> 'meteredMs' is not null or e.kind in ('billing.plan_changed', 'billing.payment_failed')) and ${counts}`)}
    )`;
  };
}
