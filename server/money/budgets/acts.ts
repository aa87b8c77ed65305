/** People set and delete budgets. */
import { eq, sql } from 'drizzle-orm';
import {
  SetRequestSchema,
  type DeleteRequest,
  type SetRequest,
} from '@svc/proto/gen/svc/budgets/v1/budgets_pb.ts';
import { apiError } from '@svc/proto/http/errors.ts';
import { environmentRows } from '../../apps/environments/index.ts';
import { projectRows } from '../../apps/projects/index.ts';
import type { Ctx } from '../../kit/context.ts';
import { newId } from '../../base/ids.ts';
import { notFound } from '../../kit/not-found.ts';
import { change, given, refuseMore, rowsOf } from '../../kit/resource/index.ts';
import { wrongField } from '../../kit/wrong-field.ts';
import { moneyOf } from '../amounts/index.ts';
import { wholeCents } from './figures.ts';
import type { BudgetRow } from './spent.ts';
import { budgets } from './schema.ts';

export const BUDGETS_MAX = 100;

export const budgetRows = rowsOf(budgets);
const BUDGET = { resource: budgetRows.kind };

/** At most one of the two is not empty. */
interface Scope {
  readonly projectId: string;
  readonly environmentId: string;
}

const details = ({ projectId, environmentId, limitCents, enabled, enforcement }: BudgetRow) => ({
  projectId,
  environmentId,
  limitCents,
  enabled,
  enforcement,
});

/**
 * Keeps the value of what is not named. The turn of the team must be taken, so that nobody else changes its
 * budgets: one look shows how many there are, and which one is set.
 */
export async function setBudget(ctx: Ctx, request: SetRequest, currency: string): Promise<BudgetRow> {
  refuseOther(request, currency);
  const { teamId, id } = request;
  const limitCents = limitOf(request, currency);
  const { enabled, enforcement } = given(SetRequestSchema, request) as Partial<BudgetRow>;
  const set = { enabled, enforcement, updatedAt: ctx.clock.now() };
  const all = await budgetRows.list(ctx, { where: eq(budgets.teamId, teamId) });
  const known = all.find((each) => each.id === id);
  if (id !== undefined && known === undefined) throw notFound('budget');
  const scope = known === undefined ? await scopeOf(ctx, request) : await sameScope(ctx, request, known);
  const before = all.find(
    ({ projectId, environmentId }) => projectId === scope.projectId && environmentId === scope.environmentId,
  );
  if (before === undefined) refuseMore(budgets, { teamId, max: BUDGETS_MAX, current: all.length });
  const replaced = (row: BudgetRow) => ({ ...details(row), ...(before && { before: details(before) }) });
  return await change(ctx, { action: 'budget.set', details: replaced }, async (tx) =>
    upsert(tx, { teamId, ...scope, limitCents }, set),
  );
}

/** The turn of the team must be taken. */
export async function deleteBudget(ctx: Ctx, { teamId, budgetId }: DeleteRequest): Promise<void> {
  await change(ctx, { action: 'budget.deleted', details }, async (tx) => {
    const removed = await budgetRows.remove(tx, budgetId, eq(budgets.teamId, teamId));
    if (removed === undefined) throw notFound('budget');
    return removed;
  });
}

type Kept = Pick<BudgetRow, 'updatedAt'> & {
  readonly [Column in 'enabled' | 'enforcement']: BudgetRow[Column] | undefined;
};

async function upsert(
  ctx: Ctx,
  row: Pick<BudgetRow, 'teamId' | 'projectId' | 'environmentId' | 'limitCents'>,
  set: Kept,
): Promise<BudgetRow> {
  const now = ctx.clock.now();
  const made = { id: newId('bdg', now.getTime()), createdAt: now };
  const [stored] = await ctx.db.orm
    .insert(budgets)
    .values({ ...made, ...row, ...set })
    .onConflictDoUpdate({
      target: [budgets.teamId, budgets.projectId, budgets.environmentId],
      set: {
        ...set,
        limitCents: row.limitCents,
        revision: sql`${budgets.revision} + (${budgets.limitCents} <> excluded.limit_cents)::int`,
      },
    })
    .returning();
  if (stored === undefined) throw new Error('an upsert returned no row');
  return stored;
}

/** The team's own: another team's project is no project. An environment may be named with its project. */
async function scopeOf(ctx: Ctx, { teamId, projectId = '', environmentId = '' }: SetRequest): Promise<Scope> {
  if (projectId !== '' && (await projectRows.find(ctx, projectId)).teamId !== teamId)
    throw notFound('project');
  if (environmentId === '') return { projectId, environmentId };
  const environment = await environmentRows.find(ctx, environmentId);
  if (environment.teamId !== teamId) throw notFound('environment');
  if (projectId !== '' && environment.projectId !== projectId) {
    const message = `environment ${environmentId} is of the project ${environment.projectId}, not of ${projectId}; a budget is of a project or of an environment`;
    throw wrongField(message, { ...BUDGET, field: 'environmentId', rule: 'one_scope' });
  }
  return { projectId: '', environmentId };
}

/** A budget keeps its scope: a request that names another one is refused. */
async function sameScope(ctx: Ctx, request: SetRequest, known: BudgetRow): Promise<Scope> {
  const { id, projectId, environmentId } = request;
  const isOfProject =
    projectId === undefined || projectId === known.projectId || (await isWithin(ctx, known, projectId));
  const other = !isOfProject
    ? 'projectId'
    : environmentId !== undefined && environmentId !== known.environmentId
      ? 'environmentId'
      : undefined;
  if (other !== undefined) {
    const message = `budget ${id} has another scope; leave the scope out, or set a budget of that scope without id`;
    throw wrongField(message, { ...BUDGET, field: other, rule: 'same_scope' });
  }
  return known;
}

/** The budget is of an environment of that project. */
async function isWithin(ctx: Ctx, { environmentId }: Scope, projectId: string): Promise<boolean> {
  if (environmentId === '') return false;
  const [environment] = await environmentRows.list(ctx, {
    where: eq(environmentRows.table.id, environmentId),
  });
  return environment?.projectId === projectId;
}

function limitOf({ monthlyLimit }: SetRequest, currency: string): number {
  const cents = wholeCents(monthlyLimit ?? 0, currency);
  if (cents !== undefined) return cents;
  const message = `monthlyLimit is ${monthlyLimit}, which is not whole in minor units of ${currency}: the smallest is ${moneyOf(1, currency)}`;
  throw wrongField(message, { ...BUDGET, field: 'monthlyLimit', rule: 'whole' });
}

function refuseOther({ currency }: SetRequest, ours: string): void {
  if (currency === undefined || currency.toLowerCase() === ours) return;
  throw apiError(
    'currency_unsupported',
    `currency is ${JSON.stringify(currency)}, and this installation counts in ${ours}; leave it out`,
    { details: { currency, supported: ours } },
  );
}
