/**
 * Holds what was spent against budgets and plans: notices, and the gates that refuse new work. Takes the
 * marks of teams in the transaction that acts on them: whoever dies in it leaves them. Costs that are
 * published while it runs wait for it with their mark, and are seen by the next one. One evaluation runs at a
 * time, wherever: of two, the one that read first could write last.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { Clock } from '../../base/clock.ts';
import { isConnectionError, isRetryable } from '../../base/db/index.ts';
import type { Database, SqlTag } from '../../base/db/index.ts';
import { eachStep } from '../../base/loop.ts';
import type { Pricing } from '../plans/index.ts';
import { moveGates } from './gates.ts';
import { measure } from './measure.ts';
import { monthAt } from './months.ts';
import { tell } from './notices.ts';

export interface EvaluateDeps extends Pricing {
  readonly db: Database;
  readonly clock: Clock;
}

export interface EvaluatedTeams {
  /** Default: whoever is marked, or held since before this month. */
  readonly teamId?: string;
  /** Teams at most; with a provider, those that their payers pay for besides are evaluated too. */
  readonly batch?: number;
}

/** Their transaction is what publishing waits for. */
const BATCH = 250;

/** Returns true when there may be more. */
export async function evaluate(
  { db, clock, ...pricing }: EvaluateDeps,
  which: EvaluatedTeams = {},
): Promise<boolean> {
  const { batch = BATCH } = which;
  return await db.transact(async (tx) => {
    const { sql } = tx;
    await takeTurn(sql);
    const now = clock.now();
    const teamIds = await takeMarked(sql, { ...which, batch, period: monthAt(now).period });
    if (teamIds.length === 0) return false;
    const measures = await measure(sql, { ...pricing, teamIds, now, forecasts: 'news' });
    const evaluated = { ...measures, ...pricing, now, teamIds };
    await tell(sql, evaluated);
    await moveGates(tx, evaluated);
    return teamIds.length >= batch;
  });
}

/**
 * As `evaluate`. A team on which it fails keeps the others from nothing: each goes by itself then, and one
 * that fails stays marked.
 */
export async function evaluateAll(
  deps: EvaluateDeps & { onError(error: unknown): void },
  batch = BATCH,
): Promise<boolean> {
  try {
    return await evaluate(deps, { batch });
  } catch (error) {
    if (isConnectionError(error) || isRetryable(error)) throw error;
  }
  const { sql } = deps.db;
  const marked = await sql<Array<{ teamId: string }>>`
    select team_id as "teamId" from (select team_id from spend_dirty union select team_id from spend_gates) t order by 1 limit ${batch}::int`;
  const steps = marked.map(
    ({ teamId }) =>
      async () =>
        await evaluate(deps, { teamId }),
  );
  await eachStep(steps, deps.onError);
  return false;
}

/** Until the transaction ends. */
export async function takeTurn(sql: SqlTag): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended('spend', 0))`;
}

/**
 * A mark that is being written is left for the next evaluation. A gate of an earlier month is looked at
 * whoever worked since, and so is one of a plan whose payer is another one since.
 */
async function takeMarked(
  sql: SqlTag,
  { teamId, batch, period }: { readonly teamId?: string; readonly batch: number; readonly period: string },
): Promise<readonly string[]> {
  const only = teamId === undefined ? sql`true` : sql`team_id = ${teamId}`;
  const rows = await sql<Array<{ id: string }>>`
    with due as materialized (
      select team_id from spend_dirty where ${only} order by team_id limit ${batch}::int for update skip locked
    ),
    taken as (delete from spend_dirty d using due where d.team_id = due.team_id returning d.team_id),
    stale as (
      select g.team_id from spend_gates g
      where ${only} and (
        g.cause in ('budget', 'included_time') and g.since < (${period}::date)::timestamp at time zone 'UTC'
        or g.cause = 'included_time' and exists (select from team_payers p where p.team_id = g.team_id and p.from_at >= g.since)
      )
      order by g.since limit ${batch}::int
    )
    select team_id as id from taken union select team_id from stale order by 1`;
  return rows.map(({ id }) => id);
}
