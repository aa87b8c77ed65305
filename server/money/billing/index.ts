/**
 * Billing: plans and credit are bought, changed and cancelled at the provider of payments, and what it tells
 * is followed here.
 */
import { BillingService } from '@svc/proto/gen/svc/billing/v1/billing_pb.ts';
import { apiError } from '@svc/proto/http/errors.ts';
import { implement } from '@svc/proto/http/implement.ts';
import {
  becomePayer,
  payerOf,
  teamBillingPort,
  teamsFeature,
  teamsPaidBy,
} from '../../access/teams/index.ts';
import type { Ctx } from '../../kit/context.ts';
import type { Database, SqlTag } from '../../base/db/index.ts';
import { declareFeature, fill } from '../../kit/feature.ts';
import { recordAct } from '../../kit/ledger/index.ts';
import { budgetsFeature, markDirty } from '../budgets/index.ts';
import { availablePlans, plansFeature, type FollowPlans } from '../plans/index.ts';
import { limitsFeature } from '../../engine/limits/index.ts';
import { accountsFeature, planOfAccount } from '../../access/accounts/index.ts';
import { apiKeysFeature } from '../../access/apikeys/index.ts';
import { amountsFeature } from '../amounts/index.ts';
import { buyCredit, costsFeature } from '../costs/index.ts';
import { creditsFeature } from '../credits/index.ts';
import { meteringFeature } from '../metering/index.ts';
import { statementsFeature } from '../statements/index.ts';
import { createAvailability } from './availability.ts';
import { checkoutCredit, checkoutPlan, portal } from './checkout.ts';
import { startBillingLoops } from './loops.ts';
import { createPurchases } from './purchase.ts';
import { addLooks, looksLeft, type Looks, type LooksLeft } from './reconcile.ts';
import { createRedirectCheck } from './redirects.ts';
import { openProvider } from './stripe.ts';
import { accountPlan, listStatements, teamBilling } from './views.ts';
import { assertCurrency } from './currency.ts';
import { createBillingWebhook } from './webhook.ts';

export type { Looks } from './reconcile.ts';

export interface Reconciling {
  /** Throws `billing_unconfigured`. */
  assertConfigured(): void;
  /** Begins in a transaction; workers take its looks when that has ended. */
  begin(db: Database, now: Date): Promise<Looks>;
  /** Counts the looks that were begun at that moment and are left. */
  left(sql: SqlTag, now: Date): Promise<LooksLeft>;
}

export const billingFeature = declareFeature({
  name: 'billing',
  on: {
    accounts: accountsFeature,
    apiKeys: apiKeysFeature,
    teams: teamsFeature,
    limits: limitsFeature,
    amounts: amountsFeature,
    metering: meteringFeature,
    plans: plansFeature,
    credits: creditsFeature,
    statements: statementsFeature,
    costs: costsFeature,
    budgets: budgetsFeature,
  },
  prefixes: ['chk'],
  events: {
    'billing.payment_failed': {
      when: 'A payment for the team failed; the plan holds for seven days from the first one.',
      scope: 'billing:read',
      notifies: true,
      delivered: true,
    },
    'billing.plan_changed': {
      when: 'The plan that pays for the team is another one, or its standing is.',
      scope: 'billing:read',
      notifies: true,
      delivered: true,
    },
  },
  start: async (system, on) => {
    const { clock, onError } = system;
    const { pricing, payments } = on.amounts;
    const { followPlans } = on.plans;
    const { currency, charges } = pricing;
    await assertCurrency(system.db, currency);
    const provider = openProvider(payments);
    const deps = provider && { ...system, provider, currency, followPlans };
    const checkout = deps && {
      ...deps,
      beginPurchase: createPurchases(deps),
      check: createRedirectCheck(() => [...system.publicUrls(), ...(payments.returnOrigins ?? [])]),
      home: () => `${system.publicUrl()}/console`,
    };
    const loops = startBillingLoops({ ...system, followPlans }, deps);
    const ofTeam = async (ctx: Ctx, teamId: string) => await teamBilling(pricing, ctx, teamId);
    const hasSecret = payments.stripeWebhookSecrets.length > 0;
    const reconciling: Reconciling = {
      assertConfigured: () => void configured(deps),
      begin: async (db, now) => {
        db.afterCommit(loops.wake);
        return await addLooks(db.sql, { now, all: true });
      },
      left: looksLeft,
    };
    const limits = {
      requestsPerMinute: system.config.limits.requestsPerMinute,
      apiKeysMax: on.apiKeys.apiKeysMax,
      teamsMax: on.teams.teamsMax,
      ...on.limits.limits,
    };
    return {
      ...loops.feature,
      reconciling,
      services: [
        implement(BillingService, {
          checkout: async (request, ctx: Ctx) => await checkoutPlan(configured(checkout), ctx, request),
          listStatements,
          portal: async (request, ctx: Ctx) => await portal(configured(checkout), ctx, request),
          becomePayer: async ({ teamId }, ctx: Ctx) => {
            await payFrom(followPlans, ctx, teamId);
            return await ofTeam(ctx, teamId);
          },
        }),
      ],
      endpoints: () => createBillingWebhook({ ...system, provider, hasSecret, onStored: loops.wake }),
      fills: [
        fill(teamBillingPort, {
          charges,
          ofTeam,
          paidBy: async ({ sql }, payerId) => await followPlans(sql, { payerId }),
        }),
        fill(planOfAccount, async (ctx) => await accountPlan({ pricing, limits }, ctx)),
        fill(buyCredit, async (ctx, wanted) => await checkoutCredit(configured(checkout), ctx, wanted)),
        ...(provider === undefined
          ? []
          : [fill(availablePlans, createAvailability({ provider, currency, clock, onError }))]),
      ],
    };
  },
});

function configured<T>(deps: T | undefined): T {
  if (deps !== undefined) return deps;
  throw apiError(
    'billing_unconfigured',
    'this installation has no provider of payments: STRIPE_SECRET_KEY is not set',
  );
}

/**
 * Makes the caller pay for the team from now on. What the plans of both include reaches other teams of
 * theirs, whose gates come or go.
 */
async function payFrom(followPlans: FollowPlans, ctx: Ctx, teamId: string): Promise<void> {
  const { caller, clock } = ctx;
  const payerId = caller.userId;
  const now = clock.now();
  const from = await ctx.db.transact(async (db) => {
    const payer = await payerOf(db.sql, teamId);
    if (!(await becomePayer(db, { teamId, payerId, now }))) return payer;
    await followPlans(db.sql, { payerId });
    await recordAct(db, ctx, {
      chain: teamId,
      action: 'billing.payer_changed',
      target: teamId,
      details: { from: payer, to: payerId },
    });
    return payer;
  });
  const { sql } = ctx.db;
  const left = from === null ? [] : await teamsPaidBy(sql, { payerId: from, before: now });
  // This happens outside of the lock of the team's row, since whoever holds a mark may wait for that lock.
  await markDirty(sql, [teamId, ...left]);
}
