/**
 * Gates refuse new work: there is a row for each scope that is held, with its cause and the figures that a
 * refusal names.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import { appendAudit, type AuditActor } from '../../kit/ledger/index.ts';
import type { Database, SqlTag } from '../../base/db/index.ts';
import { decimalOf } from '../amounts/index.ts';
import type { PaidMonth } from '../plans/index.ts';
import { isExceeded, majorOf } from './figures.ts';
import { scopeOf, type Evaluated, type Measured } from './measure.ts';

interface Gate {
  readonly teamId: string;
  readonly scope: string;
  readonly cause: 'included_time' | 'budget';
  readonly details: Readonly<Record<string, string | number>>;
}

const SPEND: AuditActor = { kind: 'system', id: 'spend', display: 'budgets and plans' };

/** Makes gates what they must be, and notes in the ledger which came and went. */
export async function moveGates(tx: Database, evaluated: Evaluated): Promise<void> {
  const { budgets, payers, teamIds, now } = evaluated;
  const wanted = [
    ...budgets.flatMap((budget) => (isHeld(budget) ? [gateOf(budget, evaluated)] : [])),
    ...payers.flatMap((payer) => planGates(payer, evaluated)),
  ];
  const of = [...new Set([...teamIds, ...payers.flatMap((payer) => payer.teamIds)])];
  // This comes last, and in the order of teams: the head of a chain stays locked until the end.
  for (const { action, teamId, ...moved } of await move(tx.sql, { wanted, of, ...evaluated })) {
    const { cause, scope, details } = moved;
    const target = String(details['budgetId'] ?? teamId);
    const figures = Object.entries(details).map(([name, value]) => [name, String(value)] as const);
    const act = { chain: teamId, actor: SPEND, action, target, requestId: '' };
    await appendAudit(tx, { ...act, details: { cause, scope, ...Object.fromEntries(figures) } }, now);
  }
}

const isHeld = (budget: Measured): boolean =>
  budget.enabled && budget.enforcement === 'hold' && (budget.refusesAll || isExceeded(budget.percentUsed));

function gateOf(budget: Measured, { currency, month }: Evaluated): Gate {
  const { id, teamId, projectId, environmentId, limitCents, spent, percentUsed } = budget;
  const details = {
    budgetId: id,
    ...scopeOf(budget),
    monthlyLimit: majorOf(limitCents, currency),
    currency,
    spent: decimalOf(spent),
    percentUsed,
    resetsAt: month.end.toISOString(),
    changedBy: 'admins and owners of the team',
  };
  return { teamId, scope: projectId || environmentId, cause: 'budget', details };
}

/** Gates for all teams of a payer whose plan ends with its time. */
function planGates({ plan, poolMs, usedMs, teamIds }: PaidMonth, { month }: Evaluated): readonly Gate[] {
  if (plan.overage || usedMs < poolMs) return [];
  const details = {
    plan: plan.id,
    includedSeconds: Math.floor(poolMs / 1_000),
    usedSeconds: Math.floor(usedMs / 1_000),
    resetsAt: month.end.toISOString(),
    changedBy: 'the account that pays for the team',
  };
  return teamIds.map((teamId) => ({ teamId, scope: '', cause: 'included_time', details }));
}

interface Moved extends Gate {
  readonly action: 'spend.held' | 'spend.released';
}

interface Moving extends Pick<Evaluated, 'now' | 'month'> {
  readonly wanted: readonly Gate[];
  /** Teams that were evaluated. */
  readonly of: readonly string[];
}

/**
 * Moves gates of teams that are there. A gate that stays has its newest figures, and in a new month begins
 * anew.
 */
async function move(sql: SqlTag, { wanted, of, now, month }: Moving): Promise<readonly Moved[]> {
  const rows = wanted.map(({ teamId: team_id, ...gate }) => ({ team_id, ...gate }));
  return await sql<Moved[]>`
    with wanted as materialized (
      select w.* from jsonb_to_recordset(${sql.json(rows)}::jsonb) w(team_id text, scope text, cause text, details jsonb) join teams t on t.id = w.team_id
    ),
    gone as (
      delete from spend_gates g
      where g.team_id = any(${[...of]}::text[]) and g.cause in ('budget', 'included_time')
        and not exists (select from wanted w where w.team_id = g.team_id and w.scope = g.scope and w.cause = g.cause)
      returning g.team_id, g.scope, g.cause, g.details
    ),
    come as (
      insert into spend_gates as g (team_id, scope, cause, details, since)
      select w.team_id, w.scope, w.cause, w.details, ${now} from wanted w order by 1, 2, 3
      on conflict (team_id, scope, cause) do update set details = excluded.details,
        since = case when g.since < (${month.period}::date)::timestamp at time zone 'UTC' then excluded.since else g.since end
      where g.details <> excluded.details or g.since < (${month.period}::date)::timestamp at time zone 'UTC'
      returning g.team_id, g.scope, g.cause, g.details, g.xmax = 0 as is_new
    )
    select 'spend.released' as action, g.team_id as "teamId", g.scope, g.cause, g.details from gone g join teams t on t.id = g.team_id
    union all
    select 'spend.held', c.team_id, c.scope, c.cause, c.details from come c where c.is_new
    order by 2, 3, 4`;
}
