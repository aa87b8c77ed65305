/**
 * Holds what was spent against budgets and plans: notices, and the gates that refuse new work. Takes the
 * marks of teams in the transaction that acts on them: whoever dies in it leaves them. Costs that are
 * published while it runs wait for it with their mark, and are seen by the next one. Evaluations of the teams
 * of one payer take turns, wherever they run: of two, the one that read first could write last.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import { teamsPaidWith } from '../../access/teams/index.ts';
import type { Clock } from '../../base/clock.ts';
import { isConnectionError, isRetryable, type Database, type SqlTag } from '../../base/db/index.ts';
import { eachStep } from '../../base/loop.ts';
import type { Pricing } from '../plans/index.ts';
import { moveGates } from './gates.ts';
import { measure, type Measures, type Measuring } from './measure.ts';
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
    const now = clock.now();
    const due = await findDue(sql, { ...which, batch, period: monthAt(now).period });
    if (due.length === 0) return false;
    await takeTurn(sql, { ...pricing, teamIds: due.map(({ id }) => id), now });
    const taken = await takeMarks(sql, due);
    const teamIds = due.filter(({ id, isStale }) => isStale || taken.has(id)).map(({ id }) => id);
    if (teamIds.length > 0) await hold(tx, { ...pricing, teamIds, now, forecasts: 'news' });
    return due.length >= batch;
  });
}

/** Measures, tells, and moves gates of teams whose turn was taken in this transaction. */
export async function hold(tx: Database, measuring: Measuring): Promise<Measures> {
  const measures = await measure(tx.sql, measuring);
  const evaluated = { ...measures, ...measuring };
  await tell(tx.sql, evaluated);
  await moveGates(tx, evaluated);
  return measures;
}

/**
 * Does what `evaluate` does. A team on which it fails keeps the others from nothing: each goes by itself
 * then, and one that fails stays marked.
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

/**
 * Waits until no other transaction evaluates a team of these payers; holds until this one ends. A team whose
 * payer becomes another one meanwhile is evaluated again, by the mark of that change.
 */
export async function takeTurn(
  sql: SqlTag,
  { teamIds, now, charges }: Pick<Measuring, 'teamIds' | 'now' | 'charges'>,
): Promise<void> {
  const paid = charges
    ? await teamsPaidWith(sql, { teamIds, before: monthAt(now).end })
    : teamIds.map((teamId) => ({ teamId, payerId: null }));
  const keys = [...new Set(paid.map(({ teamId, payerId }) => payerId ?? teamId))].toSorted();
  // They are taken in one order, so that two evaluations wait for each other and never in a circle.
  await sql`select pg_advisory_xact_lock(hashtextextended('spend ' || k, 0)) from unnest(${keys}::text[]) k`;
}

interface Due {
  readonly id: string;
  /** Its gate is of an earlier month, whoever worked since, or of a plan whose payer is another one since. */
  readonly isStale: boolean;
}

interface DueIn extends EvaluatedTeams {
  readonly batch: number;
  readonly period: string;
}

async function findDue(sql: SqlTag, { teamId, batch, period }: DueIn): Promise<readonly Due[]> {
  const only = teamId === undefined ? sql`true` : sql`team_id = ${teamId}`;
  return await sql<Due[]>`
    with marked as (select team_id from spend_dirty where ${only} order by team_id limit ${batch}::int),
    stale as (
      select g.team_id from spend_gates g
      where ${only} and (
        g.cause in ('budget', 'included_time') and g.since < (${period}::date)::timestamp at time zone 'UTC'
        or g.cause = 'included_time' and exists (select from team_payers p where p.team_id = g.team_id and p.from_at >= g.since)
      )
      order by g.since limit ${batch}::int
    )
    select team_id as id, bool_or(is_stale) as "isStale"
    from (select team_id, false as is_stale from marked union all select team_id, true from stale) d group by 1 order by 1`;
}

/** Returns the teams whose mark was taken. One that is being written is left for the next evaluation. */
async function takeMarks(sql: SqlTag, due: readonly Due[]): Promise<ReadonlySet<string>> {
  const rows = await sql<Array<{ id: string }>>`
    with free as materialized (
      select team_id from spend_dirty where team_id = any(${due.map(({ id }) => id)}::text[]) order by team_id for update skip locked
    )
    delete from spend_dirty d using free where d.team_id = free.team_id returning d.team_id as id`;
  return new Set(rows.map(({ id }) => id));
}
