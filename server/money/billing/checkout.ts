/**
 * People begin here what they buy: a plan, a change of it, the portal, credit. Each answer is an address of
 * the provider, which is in no log and no entry of the ledger.
 */
import { CheckoutKind, type CreateCreditCheckoutRequest } from '@svc/proto/gen/svc/costs/v1/costs_pb.ts';
import type { CheckoutRequest, PortalRequest } from '@svc/proto/gen/svc/billing/v1/billing_pb.ts';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { apiError } from '@svc/proto/http/errors.ts';
import { problem } from '@svc/proto/http/json-text.ts';
import type { Ctx } from '../../kit/context.ts';
import { PLATFORM_CHAIN, recordAct } from '../../kit/ledger/index.ts';
import { assertPayable } from '../credits/index.ts';
import { lookupKeyOf, PAID, type CataloguePlan } from '../plans/index.ts';
import { liveOf, subscribed, type Subscribed } from './account-plan.ts';
import type { BillingDeps } from './billing-deps.ts';
import { ensureCustomer, livingCustomer } from './customers.ts';
import { isFailure, ProviderError, type PortalOrder, type ProviderPrice } from './provider.ts';
import type { Bought, BeginPurchase } from './purchase.ts';
import type { CheckRedirects } from './redirects.ts';

export interface CheckoutDeps extends BillingDeps {
  readonly beginPurchase: BeginPurchase;
  readonly check: CheckRedirects;
  /** Returns the address that people come back to when they name none. */
  readonly home: () => string;
}

interface Page {
  readonly id: string;
  readonly url: string;
  readonly kind: CheckoutKind;
  readonly expiresAt?: ReturnType<typeof timestampFromDate>;
}

/** An account's purchases are not a matter of one of its teams. */
function refuseNarrowed({ caller }: Ctx): void {
  if (caller.onlyTeamId === undefined) return;
  throw apiError(
    'scope_missing',
    'the API key is narrowed to one team and cannot buy for the account; use one that is not',
  );
}

/**
 * This tells the caller in words what the provider did not do. The rest is for those who run the
 * installation.
 */
async function toCaller<T>({ onError }: Pick<BillingDeps, 'onError'>, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    if (!isFailure(error, 'busy')) onError(error);
    throw apiError('unavailable', 'the provider of payments does not answer as it should; try again', {
      retryAfterMs: 2_000,
    });
  }
}

export async function checkoutPlan(deps: CheckoutDeps, ctx: Ctx, request: CheckoutRequest): Promise<Page> {
  refuseNarrowed(ctx);
  const { plan: planId, successUrl, cancelUrl } = request;
  deps.check({ successUrl, cancelUrl });
  const plan = PAID.find(({ id }) => id === planId);
  if (plan === undefined) throw planUnknown(planId, 'there is no plan of this id that is bought');
  return await toCaller(deps, async () => await buyPlan(deps, ctx, { plan, successUrl, cancelUrl }));
}

function planUnknown(plan: string, why: string): Error {
  const known = PAID.map(({ id }) => id).join(', ');
  return apiError('plan_unknown', `${why}: "${plan.slice(0, 40)}"; plans that are bought are ${known}`, {
    details: { plan: plan.slice(0, 40) },
  });
}

interface WantedPlan {
  readonly plan: CataloguePlan;
  readonly successUrl: string;
  readonly cancelUrl: string;
}

/** Rounds: a purchase that was completed at this moment makes the next one a change. */
const ROUNDS = 3;

/** Tries until `begin` gives a page; it gives none when an older purchase was completed meanwhile. */
async function inRounds(begin: () => Promise<Page | undefined>, why: string): Promise<Page> {
  for (let round = 0; round < ROUNDS; round += 1) {
    const page = await begin();
    if (page !== undefined) return page;
  }
  throw apiError('unavailable', `${why}; try again`, { retryAfterMs: 2_000 });
}

async function buyPlan(deps: CheckoutDeps, ctx: Ctx, wanted: WantedPlan): Promise<Page> {
  const { provider, currency, beginPurchase } = deps;
  const { plan, successUrl, cancelUrl } = wanted;
  const { userId } = ctx.caller;
  const price = await priceOf(deps, plan);
  const customerId = await ensureCustomer(deps, userId);
  const buys = { kind: 'plan', priceId: price.id, accountId: userId } as const;
  const wish = { userId, kind: 'plan', plan: plan.id, teamId: null, successUrl, cancelUrl } as const;
  return await inRounds(async () => {
    const [live] = liveOf(subscribed(await provider.subscriptionsOf(customerId), currency));
    if (live !== undefined) return await changePlan(deps, ctx, { ...wanted, customerId, price, live });
    return pageOf(await beginPurchase(ctx, { ...wish, amountCents: plan.priceCents, customerId, buys }));
  }, 'a purchase of the account is being completed');
}

async function priceOf({ provider, currency }: CheckoutDeps, plan: CataloguePlan): Promise<ProviderPrice> {
  const price = priceIn(await provider.prices([lookupKeyOf(plan, currency)]), plan, currency);
  if (price === undefined)
    throw planUnknown(plan.id, 'the provider of payments has no active price of the amount of this plan');
  return price;
}

/** The one that the plan is bought at. Undefined: it cannot be bought. */
export function priceIn(
  prices: readonly ProviderPrice[],
  plan: CataloguePlan,
  currency: string,
): ProviderPrice | undefined {
  const key = lookupKeyOf(plan, currency);
  return prices.find(
    (price) =>
      price.lookupKey === key && price.amountCents === plan.priceCents && price.currency === currency,
  );
}

interface ChangeOfPlan extends WantedPlan {
  readonly customerId: string;
  readonly price: ProviderPrice;
  readonly live: Subscribed;
}

/** A page that confirms the change; of a subscription that is to end, one where it goes on. */
async function changePlan(
  deps: CheckoutDeps,
  ctx: Ctx,
  { plan, customerId, price, live, successUrl, cancelUrl }: ChangeOfPlan,
): Promise<Page> {
  const isSame = live.plan === plan.id;
  if (isSame && live.cancelAt === undefined)
    throw apiError('plan_current', `the account has the plan ${plan.id} already`, {
      details: { plan: plan.id },
    });
  const { id: subscriptionId, itemId } = live;
  const change =
    isSame || itemId === undefined
      ? {}
      : { change: { subscriptionId, itemId, priceId: price.id, doneUrl: successUrl } };
  const order = { customerId, returnUrl: cancelUrl, ...change };
  const url = await openPortal(deps, ctx, { order, plan: plan.id });
  return { id: '', url, kind: CheckoutKind.PORTAL };
}

async function openPortal(
  { provider, db }: CheckoutDeps,
  ctx: Ctx,
  { order, plan }: { readonly order: PortalOrder; readonly plan?: string },
): Promise<string> {
  const url = await provider.portal(order);
  const details = plan === undefined ? {} : { plan };
  const act = { chain: PLATFORM_CHAIN, action: 'billing.portal_opened', target: ctx.caller.userId, details };
  await db.transact(async (tx) => await recordAct(tx, ctx, act));
  return url;
}

function pageOf(bought: Bought): Page | undefined {
  if (bought.left) return undefined;
  const { id, url, expiresAt } = bought.checkout;
  if (url === null) throw new Error(`the purchase ${id} is open and has no address`);
  const end = expiresAt === null ? {} : { expiresAt: timestampFromDate(expiresAt) };
  return { id, url, kind: CheckoutKind.CHECKOUT, ...end };
}

export async function portal(
  deps: CheckoutDeps,
  ctx: Ctx,
  { returnUrl = deps.home() }: PortalRequest,
): Promise<{ readonly url: string }> {
  refuseNarrowed(ctx);
  if (returnUrl !== deps.home()) deps.check({ returnUrl });
  const customerId = await toCaller(deps, async () => await livingCustomer(deps, ctx.caller.userId));
  if (customerId === undefined)
    throw apiError(
      'billing_not_started',
      'nothing was bought with this account yet, or its customer was deleted at the provider of payments; svc billing checkout begins a purchase',
    );
  return await toCaller(deps, async () => ({
    url: await openPortal(deps, ctx, { order: { customerId, returnUrl } }),
  }));
}

export async function checkoutCredit(
  deps: CheckoutDeps,
  ctx: Ctx,
  { teamId, amountCents, successUrl, cancelUrl }: CreateCreditCheckoutRequest,
): Promise<Page> {
  const { beginPurchase, currency } = deps;
  const { userId } = ctx.caller;
  if (!Number.isSafeInteger(amountCents))
    throw problem('amountCents', 'double.whole', `must be a whole number, got ${amountCents}`);
  assertPayable(amountCents, currency);
  deps.check({ successUrl, cancelUrl });
  return await toCaller(deps, async () => {
    const customerId = await ensureCustomer(deps, userId);
    const buys = { kind: 'credit', amountCents, currency, name: 'Credit' } as const;
    const wish = { userId, kind: 'credit', plan: null, teamId, amountCents, successUrl, cancelUrl } as const;
    // One that was completed meanwhile stands for itself: this one is another purchase.
    return await inRounds(
      async () => pageOf(await beginPurchase(ctx, { ...wish, customerId, buys })),
      'purchases of the account are being completed',
    );
  });
}
