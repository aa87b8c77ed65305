/**
 * Budgets: what a team, a project or an environment may cost in a month, and what happens when it costs more.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import { BudgetsService, type Budget } from '@svc/proto/gen/svc/budgets/v1/budgets_pb.ts';
import { implement, type Handlers } from '@svc/proto/http/implement.ts';
import { environmentGuards, environmentsFeature, findPlaces } from '../../apps/environments/index.ts';
import { publishedUntil } from '../../kit/events/index.ts';
import type { Ctx } from '../../kit/context.ts';
import type { SqlTag } from '../../base/db/index.ts';
import { startLoop } from '../../base/loop.ts';
import { METERED, meteredTogether, meteringFeature } from '../metering/index.ts';
import { limitsFeature } from '../../engine/limits/index.ts';
import { teamsFeature } from '../../access/teams/index.ts';
import { projectsFeature } from '../../apps/projects/index.ts';
import { amountsFeature } from '../amounts/index.ts';
import { costsFeature } from '../costs/index.ts';
import { plansFeature } from '../plans/index.ts';
import { declareFeature, fill } from '../../kit/feature.ts';
import { deleteBudget, setBudget } from './acts.ts';
import { spendDirtied } from './dirty.ts';
import { budgetGuards } from './guards.ts';
import { evaluateAll, hold, takeTurn, type EvaluateDeps } from './evaluate.ts';
import { measure, type Measured, type Measuring } from './measure.ts';
import { showBudget } from './show.ts';

export { markDirty, spendDirtied } from './dirty.ts';
export { evaluate, evaluateAll } from './evaluate.ts';

/** Shorter than the 15 s within which a gate is right, with its jitter. */
const EVALUATE_EVERY_MS = 10_000;
const NOTICES_KEPT = '62 days';

export function createBudgets(deps: Omit<EvaluateDeps, 'db'>): Handlers<Ctx> {
  const { currency, charges, clock } = deps;
  /** Costs up to here are in what is measured after it. */
  const publishedAt = async ({ db }: Ctx, teamId: string, now: Date): Promise<Date> =>
    await publishedUntil(db.sql, { teamId, kind: 'work.finished', effect: METERED, now });
  const shown = async (
    { db, teams }: Ctx,
    own: readonly Measured[],
    evaluatedAt: Date,
  ): Promise<readonly Budget[]> => {
    const placeOf = await findPlaces({ db, teams }, own);
    return own.map((budget) => showBudget(budget, { currency, evaluatedAt, place: placeOf(budget) }));
  };
  /**
   * Does the act and what comes of it for gates and notices, both or neither. The turn comes first: who waits
   * for it holds nothing that an evaluation needs.
   */
  const inTurn = async <T>(ctx: Ctx, teamId: string, act: (tx: Ctx, of: Measuring) => Promise<T>) =>
    await ctx.db.transact(async (db) => {
      const measuring = { currency, charges, teamIds: [teamId], now: clock.now() };
      await takeTurn(db.sql, measuring);
      return await act({ ...ctx, db }, measuring);
    });
  return implement(BudgetsService, {
    list: async ({ teamId }, ctx: Ctx) => {
      const now = clock.now();
      const evaluatedAt = await publishedAt(ctx, teamId, now);
      const { budgets } = await measure(ctx.db.sql, { currency, charges, teamIds: [teamId], now });
      const own = budgets.filter((budget) => budget.teamId === teamId);
      return { budgets: [...(await shown(ctx, own, evaluatedAt))] };
    },
    set: async (request, ctx: Ctx) =>
      await inTurn(ctx, request.teamId, async (tx, measuring) => {
        const { id, teamId } = await setBudget(tx, request, currency);
        const evaluatedAt = await publishedAt(tx, teamId, measuring.now);
        const { budgets } = await hold(tx.db, measuring);
        const [budget] = await shown(
          tx,
          budgets.filter((each) => each.id === id),
          evaluatedAt,
        );
        if (budget === undefined) throw new Error(`budget ${id} was set and is not measured`);
        return budget;
      }),
    delete: async (request, ctx: Ctx) =>
      await inTurn(ctx, request.teamId, async (tx, measuring) => {
        await deleteBudget(tx, request);
        await hold(tx.db, { ...measuring, forecasts: 'none' });
        return {};
      }),
  });
}

export const budgetsFeature = declareFeature({
  name: 'budgets',
  on: {
    teams: teamsFeature,
    projects: projectsFeature,
    environments: environmentsFeature,
    limits: limitsFeature,
    amounts: amountsFeature,
    metering: meteringFeature,
    plans: plansFeature,
    costs: costsFeature,
  },
  events: {
    'budget.forecast': {
      when: 'A budget is likely to be exceeded by the end of the month.',
      scope: 'cost:read',
      notifies: true,
      delivered: true,
    },
    'budget.threshold': {
      when: 'Of a budget 50, 80 or 100 % is spent.',
      scope: 'cost:read',
      notifies: true,
      delivered: true,
    },
    'included_time.near': {
      when: 'Of the time that the plan includes 75, 90 or 100 % is used.',
      scope: 'cost:read',
      notifies: true,
      delivered: true,
    },
  },
  start: (system, { amounts: { pricing } }) => {
    const { db, clock, onError } = system;
    const deps = { db, clock, ...pricing };
    return {
      services: [createBudgets(deps)],
      loops: [
        () =>
          startLoop({
            everyMs: EVALUATE_EVERY_MS,
            onError,
            run: async () => await evaluateAll({ ...deps, onError }),
          }),
      ],
      purges: [
        async (nowMs) =>
          await db.sql`delete from budget_notices where month < (${new Date(nowMs)}::timestamptz - ${NOTICES_KEPT}::interval)::date`,
      ],
      fills: [fill(environmentGuards, budgetGuards), fill(meteredTogether, spendDirtied(pricing))],
    };
  },
});

export interface Used {
  readonly budgetId: string;
  readonly percentUsed: number;
}

/** Greatest `percentUsed` of the enabled budgets of each team; a team without one has no entry. */
export async function percentUsed(sql: SqlTag, measuring: Measuring): Promise<ReadonlyMap<string, Used>> {
  const { budgets } = await measure(sql, { ...measuring, forecasts: 'none' });
  const asked = new Set(measuring.teamIds);
  const enabled = budgets.filter(({ enabled: is, teamId }) => is && asked.has(teamId));
  const ascending = enabled.toSorted((a, b) => a.percentUsed - b.percentUsed);
  return new Map(
    ascending.map(({ teamId, id, percentUsed: used }) => [teamId, { budgetId: id, percentUsed: used }]),
  );
}
