/** Budgets: what a team, a project or an environment may cost in a month, and what happens when it costs more. */
import { BudgetsService } from '@svc/proto/gen/svc/budgets/v1/budgets_pb.ts';
import type { Budget } from '@svc/proto/gen/svc/budgets/v1/budgets_pb.ts';
import { implement } from '@svc/proto/http/implement.ts';
import type { Handlers } from '@svc/proto/http/implement.ts';
import type { Ctx } from '../../platform/context.ts';
import type { Feature, System } from '../../platform/feature.ts';
import { notFound } from '../../platform/not-found.ts';
import { deleteBudget, setBudget } from './acts.ts';
import { spendDirtied } from './dirty.ts';
import { measure } from './measure.ts';
import type { Pricing } from './measure.ts';
import { showBudget } from './show.ts';

export { markDirty, spendDirtied } from './dirty.ts';

function createBudgets(pricing: Pricing): Handlers<Ctx> {
  const listed = async ({ db, clock }: Ctx, teamId: string): Promise<readonly Budget[]> => {
    const now = clock.now();
    const { budgets } = await measure(db.sql, { ...pricing, teamIds: [teamId], now });
    const { currency } = pricing;
    return budgets
      .filter((budget) => budget.teamId === teamId)
      .map((budget) => showBudget(budget, { currency, evaluatedAt: now }));
  };
  return implement(BudgetsService, {
    list: async ({ teamId }, ctx: Ctx) => ({ budgets: [...(await listed(ctx, teamId))] }),
    set: async (request, ctx: Ctx) => {
      const { id, teamId } = await setBudget(ctx, request, pricing.currency);
      const found = (await listed(ctx, teamId)).find((budget) => budget.id === id);
      if (found === undefined) throw notFound('budget'); // Deleted since.
      return found;
    },
    delete: async (request, ctx: Ctx) => {
      await deleteBudget(ctx, request);
      return {};
    },
  });
}

export function budgetsFeature({ config }: System): Feature {
  const { currency, stripeSecretKey } = config.billing;
  const pricing = { currency, charges: stripeSecretKey !== undefined };
  return { services: [createBudgets(pricing)], effects: [spendDirtied(pricing)] };
}
