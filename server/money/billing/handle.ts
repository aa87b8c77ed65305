/**
 * This file says what is done for each event. An event says only which object to read: what the object is now
 * decides, so that events may come late, twice and in any order.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import { disputeLost, disputeOpened, disputeWon, refund } from '../credits/index.ts';
import { DAY_MS } from '../metering/index.ts';
import { accountPlanOf, FREE, type AccountPlan } from '../plans/index.ts';
import { applyPlan, failedNotice, liveOf, standingOf, subscribed, tellTeams } from './account-plan.ts';
import { noEffects, recordProviderAct, type BillingDeps, type Effects } from './billing-deps.ts';
import { endCheckout, findCheckout } from './checkouts-store.ts';
import { accountOf, customerOf } from './customers.ts';
import { addEvents, type ClaimedEvent } from './events.ts';
import { invoiceStatement, settleInvoice } from './invoicing.ts';
import { invoicePaidBack, partOf } from './paid-back.ts';
import { feesOf } from './plan-fees.ts';
import type { ProviderDispute, ProviderSession } from './provider.ts';
import { settleSession } from './settle-session.ts';

type Handler = (deps: BillingDeps, event: ClaimedEvent) => Promise<Effects>;

const session: Handler = async (deps, { objectId, lane }) => {
  const found = await deps.provider.session(objectId);
  const settled = await settleSession(deps, found);
  const followed = found?.mode === 'subscription' ? await planOf(deps, lane) : noEffects;
  return both(settled, followed);
};

const subscription: Handler = async (deps, { lane }) => await planOf(deps, lane);

const invoice: Handler = async (deps, { objectId, lane }) => {
  const found = await deps.provider.invoice(objectId);
  if (found?.subscriptionId === undefined) return await settleInvoice(deps, found);
  return both(await feesOf(deps, lane, [found]), await planOf(deps, lane));
};

const charge: Handler = async (deps, { objectId, lane }) => {
  const found = await deps.provider.refundsOfCharge(objectId);
  if (found?.paymentId === undefined) return noEffects;
  const { paymentId, givenCents } = found;
  const paid = await paidSession(deps, paymentId);
  if (paid === undefined) {
    const back = { kind: 'statement_refund', of: objectId, givenCents } as const;
    return await invoicePaidBack(deps, { paymentId, lane }, back);
  }
  return both(await settleSession(deps, paid), async ({ db, now: at, eventId }) => {
    await refund(db, { purchase: paid.id, totalCents: partOf(givenCents, paid), at, eventId });
  });
};

const dispute: Handler = async (deps, { objectId, lane }) => {
  const found = await deps.provider.dispute(objectId);
  if (found?.paymentId === undefined) return noEffects;
  const paid = await paidSession(deps, found.paymentId);
  if (paid !== undefined) return both(await settleSession(deps, paid), disputed(found, paid));
  if (found.state !== 'lost') return noEffects;
  const back = { kind: 'statement_dispute_lost', of: objectId, givenCents: found.amountCents } as const;
  return await invoicePaidBack(deps, { paymentId: found.paymentId, lane }, back);
};

/** Returns the session of a purchase of credit, or undefined when the payment was for something else. */
async function paidSession({ provider }: BillingDeps, paymentId: string) {
  const found = await provider.sessionOfPayment(paymentId);
  return found?.mode === 'payment' ? found : undefined;
}

function disputed({ id, state, amountCents }: ProviderDispute, paid: ProviderSession): Effects {
  return async ({ db, now: at, eventId }) => {
    const cents = partOf(amountCents, paid);
    const of = { purchase: paid.id, dispute: id, cents, at, eventId };
    if (state === 'open') await disputeOpened(db, of);
    if (state === 'won') await disputeWon(db, of);
    if (state === 'lost') await disputeLost(db, of);
  };
}

function both(...all: readonly Effects[]): Effects {
  return async (change) => {
    for (const effects of all) await effects(change);
  };
}

/** Subscriptions of a customer of ours, whatever the event says of one of them. */
async function planOf(deps: BillingDeps, customerId: string): Promise<Effects> {
  const { db, provider, currency } = deps;
  const userId = await accountOf(db.sql, customerId);
  // What is told of a customer that was deleted and has a successor says nothing of the plan.
  if (userId === undefined || (await customerOf(db.sql, userId)) !== customerId) return noEffects;
  const all = subscribed(await provider.subscriptionsOf(customerId), currency);
  const [, ...surplus] = liveOf(all);
  return async (change) => {
    const of = { type: 'svc.surplus', lane: customerId };
    const events = surplus.map(({ id }) => ({ ...of, id: `surplus:${id}`, objectId: id }));
    await addEvents(change.db.sql, events);
    const next = (before: AccountPlan) => standingOf(all, before, change.now);
    await applyPlan(deps, change, { userId, next });
  };
}

/** A second subscription that lives beside an older one: what was paid for it goes back, and it ends. */
const surplus: Handler = async (deps, { objectId, lane }) => {
  const { db, provider, currency } = deps;
  const userId = await accountOf(db.sql, lane);
  const all = subscribed(await provider.subscriptionsOf(lane), currency);
  const [first] = liveOf(all);
  const own = all.find(({ id }) => id === objectId);
  if (userId === undefined || own === undefined || first?.id === objectId) return noEffects;
  await provider.refundSubscription(objectId);
  await provider.cancelSubscription(objectId);
  const { plan } = own;
  return async (change) => {
    const body =
      'The account has an older subscription, which goes on; what was paid for the second one was refunded.';
    const title = (team: string) => `A second subscription that pays for ${team} was cancelled`;
    const notice = { kind: 'billing.plan_changed', title, body, payload: { plan } } as const;
    await tellTeams(change, userId, { ...notice, key: objectId });
    const details = { plan, subscription: objectId, cancelled: true, refunded: true };
    await recordProviderAct(change, { action: 'billing.plan_changed', target: userId, details });
  };
};

/** Reads everything of an account. */
const account: Handler = async (deps, { lane }) => {
  const fees = await feesOf(deps, lane, await deps.provider.planInvoicesOf(lane));
  return both(fees, await planOf(deps, lane), async ({ db, now }) => {
    await db.sql`update billing_customers set reconciled_at = ${now} where customer_id = ${lane}`;
  });
};

/**
 * A purchase that is open for long: the answer to its making may be lost, and so may be what the provider
 * told since.
 */
const checkout: Handler = async (deps, { objectId, lane }) => {
  const { db, provider, clock } = deps;
  const row = await findCheckout(db, objectId);
  if (row === undefined || row.endedAt !== null) return noEffects;
  const found =
    row.sessionId === null
      ? (await provider.sessionsOf(lane)).find(({ checkoutId }) => checkoutId === objectId)
      : await provider.session(row.sessionId);
  if (found !== undefined)
    return both(
      await settleSession(deps, found),
      found.mode === 'subscription' && found.state === 'complete' ? await planOf(deps, lane) : noEffects,
    );
  const isOld = clock.now().getTime() - row.createdAt.getTime() > DAY_MS;
  return isOld
    ? async ({ db: tx, now: at }) => void (await endCheckout(tx, objectId, { state: 'expired', at }))
    : noEffects;
};

const statement: Handler = async (deps, { objectId }) => await invoiceStatement(deps, objectId);

const refundAll: Handler = async ({ provider }, { objectId }) => {
  await provider.refundPayment(objectId);
  return noEffects;
};

/** True for the failure that the event was made for: another one has an event of its own. */
const isOf = (id: string, { pastDueSince, standing }: AccountPlan): boolean =>
  standing === 'past_due' && pastDueSince !== null && id.endsWith(`:${pastDueSince.getTime()}`);

/** Nothing is read: the days of grace are over, whether the provider answers or not. */
const lapse: Handler =
  async (deps, { id, objectId: userId }) =>
  async (change) =>
    await applyPlan(deps, change, {
      userId,
      next: (before) => (isOf(id, before) ? { ...before, plan: FREE.id, standing: 'free' } : undefined),
    });

const reminder: Handler =
  async (_deps, { id, objectId: userId }) =>
  async (change) => {
    const known = await accountPlanOf(change.db, userId);
    if (!isOf(id, known) || known.pastDueSince === null) return;
    await tellTeams(change, userId, { ...failedNotice(known.plan, known.pastDueSince), key: id });
  };

/** Those of the provider that have an effect, and looks that the server takes by itself. */
const HANDLERS: Readonly<Record<string, Handler>> = {
  'charge.dispute.closed': dispute,
  'charge.dispute.created': dispute,
  'charge.refunded': charge,
  'checkout.session.async_payment_failed': session,
  'checkout.session.async_payment_succeeded': session,
  'checkout.session.completed': session,
  'checkout.session.expired': session,
  'customer.subscription.created': subscription,
  'customer.subscription.deleted': subscription,
  'customer.subscription.paused': subscription,
  'customer.subscription.resumed': subscription,
  'customer.subscription.updated': subscription,
  'invoice.finalized': invoice,
  'invoice.marked_uncollectible': invoice,
  'invoice.paid': invoice,
  'invoice.payment_failed': invoice,
  'invoice.voided': invoice,
  'svc.account': account,
  'svc.checkout': checkout,
  'svc.invoice': invoice,
  'svc.lapse': lapse,
  'svc.refund': refundAll,
  'svc.reminder': reminder,
  'svc.session': session,
  'svc.statement': statement,
  'svc.surplus': surplus,
};

/**
 * Finds the handler by what an event says that it is: a word of others, which may be that of any property.
 */
export const handlerOf = (type: string): Handler | undefined =>
  Object.hasOwn(HANDLERS, type) ? HANDLERS[type] : undefined;
