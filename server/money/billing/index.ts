/** Billing: plans and credit are bought, changed and cancelled at the provider of payments, and what it tells is followed here. */
import { BillingService } from '@svc/proto/gen/svc/billing/v1/billing_pb.ts';
import type { TeamBilling } from '@svc/proto/gen/svc/billing/v1/billing_pb.ts';
import { apiError } from '@svc/proto/http/errors.ts';
import { implement } from '@svc/proto/http/implement.ts';
import type { Handlers } from '@svc/proto/http/implement.ts';
import { becomePayer, payerOf, teamsPaidBy } from '../../access/teams/index.ts';
import type { Ctx } from '../../kit/context.ts';
import type { Database, SqlTag } from '../../base/db/index.ts';
import type { Feature, System } from '../../kit/feature.ts';
import { recordAct } from '../../kit/ledger/index.ts';
import { markDirty } from '../budgets/index.ts';
import { createFollowPlans, pricingOf } from '../plans/index.ts';
import type { Available, FollowPlans } from '../plans/index.ts';
import { createAvailability } from './availability.ts';
import { checkoutCredit, checkoutPlan, portal } from './checkout.ts';
import type { CheckoutDeps, WantedCredit } from './checkout.ts';
import { startBillingLoops } from './loops.ts';
import type { Provider } from './provider.ts';
import { createPurchases } from './purchase.ts';
import { addLooks, looksLeft } from './reconcile.ts';
import type { Looks, LooksLeft } from './reconcile.ts';
import { createRedirectCheck } from './redirects.ts';
import { openProvider } from './stripe.ts';
import { accountBilling, listStatements, teamBilling } from './views.ts';
import type { AccountBilling } from './views.ts';
import { createBillingWebhook } from './webhook.ts';

export type { AccountBilling } from './views.ts';
export type { WantedCredit } from './checkout.ts';
export type { Looks } from './reconcile.ts';

type Page = Awaited<ReturnType<typeof checkoutCredit>>;

export interface Billing extends Feature {
  readonly available: Available;
  /** `costs.createCreditCheckout`. */
  readonly buyCredit: (ctx: Ctx, wanted: WantedCredit) => Promise<Page>;
  /** `teams.billing`. */
  readonly ofTeam: (ctx: Ctx, teamId: string) => Promise<TeamBilling>;
  /** What `account.plan` says of money. */
  readonly ofAccount: (ctx: Ctx) => Promise<AccountBilling>;
  /** A team was made, or has another payer: its limits are those of the payer's plan. */
  readonly paidBy: (db: Pick<Database, 'sql'>, payerId: string) => Promise<void>;
  /** `adminBilling.reconcile`: everything that is open is read again at the provider, now. */
  readonly reconciling: Reconciling;
}

export interface Reconciling {
  /** Throws `billing_unconfigured`. */
  assertConfigured(): void;
  /** In a transaction: workers take its looks when that has ended. */
  begin(db: Database, now: Date): Promise<Looks>;
  /** Of those that were begun at that moment. */
  left(sql: SqlTag, now: Date): Promise<LooksLeft>;
}

export function billingFeature(system: System): Billing {
  const { config, clock, onError } = system;
  const pricing = pricingOf(system);
  const { currency } = pricing;
  const provider = openProvider(config);
  const followPlans = createFollowPlans(config.limits, pricing.charges);
  const deps = provider && { ...system, provider, currency, followPlans };
  const checkout = deps && checkoutDeps(system, deps);
  const loops = startBillingLoops({ ...system, followPlans }, deps);
  const ofTeam = async (ctx: Ctx, teamId: string) => await teamBilling(pricing, ctx, teamId);
  const paidBy: Billing['paidBy'] = async ({ sql }, payerId) => await followPlans(sql, { payerId });
  const webhook = {
    ...system,
    provider,
    hasSecret: config.billing.stripeWebhookSecrets.length > 0,
    onStored: loops.wake,
  };
  return {
    services: [createBilling(checkout, { followPlans, ofTeam })],
    endpoints: () => createBillingWebhook(webhook),
    ...loops.feature,
    available: provider && createAvailability({ provider, currency, clock, onError }),
    buyCredit: async (ctx, wanted) => await checkoutCredit(configured(checkout), ctx, wanted),
    ofTeam,
    ofAccount: async (ctx) => await accountBilling(pricing, ctx),
    paidBy,
    reconciling: {
      assertConfigured: () => void configured(deps),
      begin: async (db, now) => {
        db.afterCommit(loops.wake);
        return await addLooks(db.sql, { now, all: true });
      },
      left: looksLeft,
    },
  };
}

function createBilling(
  checkout: CheckoutDeps | undefined,
  { followPlans, ofTeam }: Pick<Billing, 'ofTeam'> & { readonly followPlans: FollowPlans },
): Handlers<Ctx> {
  return implement(BillingService, {
    checkout: async (request, ctx: Ctx) => await checkoutPlan(configured(checkout), ctx, request),
    listStatements,
    portal: async (request, ctx: Ctx) => await portal(configured(checkout), ctx, request),
    becomePayer: async ({ teamId }, ctx: Ctx) => {
      await payFrom(followPlans, ctx, teamId);
      return await ofTeam(ctx, teamId);
    },
  });
}

function checkoutDeps(
  system: System,
  deps: System & {
    readonly provider: Provider;
    readonly currency: string;
    readonly followPlans: FollowPlans;
  },
): CheckoutDeps {
  const more = system.config.billing.returnOrigins ?? [];
  return {
    ...deps,
    purchases: createPurchases(deps),
    check: createRedirectCheck(() => [...system.publicUrls(), ...more]),
    home: () => `${system.publicUrl()}/console`,
  };
}

function configured<T>(deps: T | undefined): T {
  if (deps !== undefined) return deps;
  throw apiError(
    'billing_unconfigured',
    'this installation has no provider of payments: STRIPE_SECRET_KEY is not set',
  );
}

/** From now on; who pays already goes on. What the plans of both include reaches other teams of theirs, whose gates come or go. */
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
  // Not under the lock of the team's row: whoever holds a mark may be waiting for that.
  await markDirty(sql, [teamId, ...left]);
}
