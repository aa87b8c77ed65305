/** What comes to pass by itself as time goes on: renewals, tries to charge, ends of sessions. */
import type Stripe from 'stripe';
import { draftInvoice } from './invoice-object.ts';
import { attempt, cardOutcome, finalize, voidInvoice } from './invoices.ts';
import { takePending } from './pending-items.ts';
import { HOUR, periodEnd } from './periods.ts';
import { expireSession } from './session-page.ts';
import { endSubscription, setStatus } from './standing.ts';
import { endOf } from './subscription-changes.ts';
import { addItemLine, recurringOf } from './subscriptions.ts';
import { idOf, type World } from './world.ts';

interface Due {
  readonly at: number;
  run(): void;
}

const RENEWED: readonly string[] = ['active', 'past_due', 'unpaid', 'trialing'];
/** Seconds in which the first invoice must be paid. */
const INCOMPLETE_FOR = 23 * HOUR;

/** Goes on by `ms`, one thing after the other, each at its own moment. */
export function goOn(world: World, ms: number): void {
  const target = world.now() + Math.round(ms / 1000);
  for (;;) {
    const next = earliest(dues(world));
    if (next === undefined || next.at > target) break;
    if (next.at > world.now()) world.moveTo(next.at);
    next.run();
  }
  if (target > world.now()) world.moveTo(target);
}

function earliest(all: Iterable<Due>): Due | undefined {
  let first: Due | undefined;
  for (const due of all) if (first === undefined || due.at < first.at) first = due;
  return first;
}

function* dues(world: World): Generator<Due> {
  for (const session of world.tables['checkout.session'].values())
    if (session.status === 'open')
      yield {
        at: world.purchases.get(session.id)?.endsAt ?? session.expires_at,
        run: () => void expireSession(world, session),
      };
  for (const invoice of world.tables.invoice.values()) {
    if (invoice.status === 'draft' && invoice.automatically_finalizes_at !== null)
      yield { at: invoice.automatically_finalizes_at, run: () => finalizeAndTry(world, invoice) };
    if (invoice.status === 'open' && invoice.next_payment_attempt !== null)
      yield { at: invoice.next_payment_attempt, run: () => tryToCharge(world, invoice) };
  }
  for (const subscription of world.tables.subscription.values()) {
    if (subscription.status === 'incomplete')
      yield { at: subscription.created + INCOMPLETE_FOR, run: () => giveUp(world, subscription) };
    if (RENEWED.includes(subscription.status))
      yield { at: endOf(subscription), run: () => renew(world, subscription) };
  }
}

/** Invoices that finalise themselves are tried at once. */
function finalizeAndTry(world: World, invoice: Stripe.Invoice): void {
  finalize(world, invoice);
  if (invoice.next_payment_attempt !== null) tryToCharge(world, invoice);
}

function tryToCharge(world: World, invoice: Stripe.Invoice): void {
  attempt(world, invoice, cardOutcome(world, idOf(invoice.customer)));
}

function giveUp(world: World, subscription: Stripe.Subscription): void {
  const invoice = world.tables.invoice.get(idOf(subscription.latest_invoice));
  if (invoice?.status === 'open') voidInvoice(world, invoice);
  setStatus(world, subscription, 'incomplete_expired');
}

/** The next period begins, and its invoice stays a draft for an hour. */
function renew(world: World, subscription: Stripe.Subscription): void {
  if (subscription.cancel_at_period_end) {
    endSubscription(world, subscription, 'cancellation_requested');
    return;
  }
  const end = endOf(subscription);
  const start = Math.min(...subscription.items.data.map((item) => item.current_period_start));
  for (const item of subscription.items.data) {
    item.current_period_start = end;
    item.current_period_end = periodEnd(subscription.billing_cycle_anchor, recurringOf(item.price), end);
  }
  const invoice = draftInvoice(world, {
    customer: idOf(subscription.customer),
    currency: subscription.currency,
    reason: 'subscription_cycle',
    // The invoices of an unpaid subscription stay drafts.
    autoAdvance: subscription.status !== 'unpaid',
    subscription,
    period: { start, end },
  });
  for (const item of subscription.items.data)
    addItemLine(world, invoice, { item, amount: (item.price.unit_amount ?? 0) * (item.quantity ?? 1) });
  takePending(world, invoice, subscription.id);
  world.emit('invoice.created', invoice);
  world.emit('customer.subscription.updated', subscription);
}
