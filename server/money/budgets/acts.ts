/** What people do with budgets: set and delete. */
import { and, eq, not, sql } from 'drizzle-orm';
import { SetRequestSchema } from '@svc/proto/gen/svc/budgets/v1/budgets_pb.ts';
import type { DeleteRequest, SetRequest } from '@svc/proto/gen/svc/budgets/v1/budgets_pb.ts';
import { apiError } from '@svc/proto/http/errors.ts';
import { environmentRows } from '../../apps/environments/index.ts';
import { projectRows } from '../../apps/projects/index.ts';
import type { Ctx } from '../../kit/context.ts';
import { newId } from '../../base/ids.ts';
import { notFound } from '../../kit/not-found.ts';
import { change, given, rowsOf } from '../../kit/resource/index.ts';
import { moneyOf } from '../amounts/index.ts';
import { markDirty } from './dirty.ts';
import { wholeCents } from './figures.ts';
import type { BudgetRow } from './spent.ts';
import { budgets } from './schema.ts';

export const BUDGETS_MAX = 100;

export const budgetRows = rowsOf(budgets);

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
 * What is not named keeps its value; whoever is to be told is told anew when the limit changes. Marks the
 * team, so that its gates follow.
 */
export async function setBudget(ctx: Ctx, request: SetRequest, currency: string): Promise<BudgetRow> {
  refuseOther(request, currency);
  const { teamId, id } = request;
  const limitCents = limitOf(request, currency);
  const { enabled, enforcement } = given(SetRequestSchema, request) as Partial<BudgetRow>;
  const set = { enabled, enforcement, updatedAt: ctx.clock.now() };
  return await ctx.db.transact(async (db) => {
    const tx = { ...ctx, db };
    const scope = id === undefined ? await scopeOf(tx, request) : await scopeOfBudget(tx, request, id);
    await budgetRows.atMost(tx, { teamId, max: BUDGETS_MAX, where: not(ofScope(scope)) });
    const [before] = await budgetRows.list(tx, { where: and(eq(budgets.teamId, teamId), ofScope(scope)) });
    const replaced = (row: BudgetRow) => ({ ...details(row), ...(before && { before: details(before) }) });
    return await change(tx, { action: 'budget.set', details: replaced }, async () => {
      const row = await upsert(tx, { teamId, ...scope, limitCents }, set);
      if (id !== undefined && row.id !== id) throw notFound('budget');
      await markDirty(db.sql, [teamId]);
      return row;
    });
  });
}

export async function deleteBudget(ctx: Ctx, { teamId, budgetId }: DeleteRequest): Promise<void> {
  await change(ctx, { action: 'budget.deleted', details }, async (tx) => {
    const removed = await budgetRows.remove(tx, budgetId, eq(budgets.teamId, teamId));
    if (removed === undefined) throw notFound('budget');
    await markDirty(tx.db.sql, [teamId]);
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

function ofScope({ projectId, environmentId }: Scope) {
  const same = and(eq(budgets.projectId, projectId), eq(budgets.environmentId, environmentId));
  if (same === undefined) throw new Error('a scope has two parts');
  return same;
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
    throw refused('environmentId', 'one_scope', message);
  }
  return { projectId: '', environmentId };
}

async function scopeOfBudget(ctx: Ctx, request: SetRequest, id: string): Promise<Scope> {
  const { teamId, projectId, environmentId } = request;
  const known = await budgetRows.lock(ctx, id);
  if (known.teamId !== teamId) throw notFound('budget');
  const isOfProject =
    projectId === undefined || projectId === known.projectId || (await isWithin(ctx, known, projectId));
  const other = !isOfProject
    ? 'projectId'
    : environmentId !== undefined && environmentId !== known.environmentId
      ? 'environmentId'
      : undefined;
  if (other !== undefined) {
    const message = `budget ${id} has another scope; leave the scope out, or set a budget of that scope without id`;
    throw refused(other, 'same_scope', message);
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
  throw refused('monthlyLimit', 'whole', message);
}

function refuseOther({ currency }: SetRequest, ours: string): void {
  if (currency === undefined || currency.toLowerCase() === ours) return;
  throw apiError(
    'currency_unsupported',
    `currency is ${JSON.stringify(currency)}, and this installation counts in ${ours}; leave it out`,
    { details: { currency, supported: ours } },
  );
}

function refused(field: string, rule: string, message: string): Error {
  const of = { resource: 'budget', fields: [{ field, rule, message }] };
  return apiError('validation_failed', message, { details: of });
}
