/** Budgets: what a team, a project or an environment may cost in a month, and what happens when it costs more. */
import { BudgetsService } from '@svc/proto/gen/svc/budgets/v1/budgets_pb.ts';
import type { Budget } from '@svc/proto/gen/svc/budgets/v1/budgets_pb.ts';
import { implement } from '@svc/proto/http/implement.ts';
import type { Handlers } from '@svc/proto/http/implement.ts';
import type { Ctx } from '../../platform/context.ts';
import type { SqlTag } from '../../platform/db/index.ts';
import type { Feature, System } from '../../platform/feature.ts';
import { startLoop } from '../../platform/loop.ts';
import { notFound } from '../../platform/not-found.ts';
import { deleteBudget, setBudget } from './acts.ts';
import { spendDirtied } from './dirty.ts';
import { evaluate } from './evaluate.ts';
import type { EvaluateDeps } from './evaluate.ts';
import { measure } from './measure.ts';
import type { Measuring } from './measure.ts';
import { showBudget } from './show.ts';

export { markDirty, spendDirtied } from './dirty.ts';
export { evaluate } from './evaluate.ts';
export type { EvaluateDeps } from './evaluate.ts';

/** Shorter than the 15 s within which a gate is right, with its jitter. */
const EVALUATE_EVERY_MS = 10_000;
const NOTICES_KEPT = '62 days';

export interface BudgetsDeps extends EvaluateDeps {
  onError(error: unknown): void;
}

export function createBudgets(deps: BudgetsDeps): Handlers<Ctx> {
  const { currency, charges, clock, onError } = deps;
  const listed = async ({ db }: Ctx, teamId: string): Promise<readonly Budget[]> => {
    const now = clock.now();
    const { budgets } = await measure(db.sql, { currency, charges, teamIds: [teamId], now });
    return budgets
      .filter((budget) => budget.teamId === teamId)
      .map((budget) => showBudget(budget, { currency, evaluatedAt: now }));
  };
  return implement(BudgetsService, {
    list: async ({ teamId }, ctx: Ctx) => ({ budgets: [...(await listed(ctx, teamId))] }),
    set: async (request, ctx: Ctx) => {
      const { id, teamId } = await setBudget(ctx, request, currency);
      // What fails here is left to the loop: the team is marked.
      await evaluate(deps, { teamId }).catch(onError);
      const found = (await listed(ctx, teamId)).find((budget) => budget.id === id);
      if (found === undefined) throw notFound('budget'); // Deleted since.
      return found;
    },
    delete: async (request, ctx: Ctx) => {
      await deleteBudget(ctx, request);
      ctx.db.afterCommit(() => void evaluate(deps, request).catch(onError));
      return {};
    },
  });
}

export function budgetsFeature({ config, db, clock, onError }: System): Feature {
  const { currency, stripeSecretKey } = config.billing;
  const deps = { db, clock, onError, currency, charges: stripeSecretKey !== undefined };
  return {
    services: [createBudgets(deps)],
    effects: [spendDirtied(deps)],
    loops: [() => startLoop({ everyMs: EVALUATE_EVERY_MS, onError, run: async () => await evaluate(deps) })],
    purges: [
      async (nowMs) =>
        await db.sql`delete from budget_notices where month < (${new Date(nowMs)}::timestamptz - ${NOTICES_KEPT}::interval)::date`,
    ],
  };
}

export interface Used {
  readonly budgetId: string;
  readonly percentUsed: number;
}

/** Greatest `percentUsed` of the enabled budgets of each team; a team without one has no entry. */
export async function percentUsed(sql: SqlTag, measuring: Measuring): Promise<ReadonlyMap<string, Used>> {
  const { budgets } = await measure(sql, measuring);
  const asked = new Set(measuring.teamIds);
  const enabled = budgets.filter(({ enabled: is, teamId }) => is && asked.has(teamId));
  const ascending = enabled.toSorted((a, b) => a.percentUsed - b.percentUsed);
  return new Map(
    ascending.map(({ teamId, id, percentUsed: used }) => [teamId, { budgetId: id, percentUsed: used }]),
  );
}
