/** Plays other plans, endings and returns of a subscription. */
import type Stripe from 'stripe';
import { draftInvoice } from './invoice-object.ts';
import { attempt, cardOutcome, finalize } from './invoices.ts';
import { toPayable } from './payable.ts';
import { previousStart } from './periods.ts';
import { addItem, takePending } from './pending-items.ts';
import { invalid } from './refusal.ts';
import { endSubscription, LIVE, setStatus } from './standing.ts';
import { nameOf, planOf, recurringOf } from './subscriptions.ts';
import { idOf, type World } from './world.ts';

export const PRORATIONS = ['create_prorations', 'always_invoice', 'none'] as const;
export type Proration = (typeof PRORATIONS)[number];

export interface PlanChange {
  readonly item: Stripe.SubscriptionItem;
  readonly price: Stripe.Price;
  readonly quantity: number;
  readonly proration: Proration;
}

/** Credits what is left of the old price and charges the same time of the new one. */
export function changePlan(world: World, subscription: Stripe.Subscription, change: PlanChange): void {
  mustLive(subscription);
  const { item, price, quantity, proration } = change;
  recurringOf(price);
  if (price.currency !== subscription.currency)
    throw invalid('The price must have the currency of the subscription.', { param: 'items[0][price]' });
  if (proration !== 'none') addProrations(world, subscription, change);
  item.price = price;
  item.plan = planOf(price);
  item.quantity = quantity;
  if (proration === 'always_invoice') chargeNow(world, subscription);
  world.emit('customer.subscription.updated', subscription);
}

function addProrations(world: World, subscription: Stripe.Subscription, change: PlanChange): void {
  const { item, price, quantity } = change;
  // The price is of a whole period. The first one may have been shorter, and was charged as a part of it.
  const recurring = recurringOf(item.price);
  const begin = previousStart(subscription.billing_cycle_anchor, recurring, item.current_period_end);
  const left = (item.current_period_end - world.now()) / (item.current_period_end - begin);
  const period = { start: world.now(), end: item.current_period_end };
  const partOf = (each: Stripe.Price, n: number) =>
    toPayable((each.unit_amount ?? 0) * n * left, subscription.currency);
  const part = { customer: idOf(subscription.customer), currency: subscription.currency, period };
  const of = { subscription: subscription.id, subscriptionItem: item.id };
  addItem(world, {
    ...part,
    amount: -partOf(item.price, item.quantity ?? 1),
    description: `Unused time on ${nameOf(world, item.price)}`,
    price: item.price,
    proration: of,
  });
  addItem(world, {
    ...part,
    amount: partOf(price, quantity),
    description: `Remaining time on ${nameOf(world, price)}`,
    price,
    proration: of,
  });
}

function chargeNow(world: World, subscription: Stripe.Subscription): void {
  const invoice = draftInvoice(world, {
    customer: idOf(subscription.customer),
    currency: subscription.currency,
    reason: 'subscription_update',
    autoAdvance: true,
    subscription,
  });
  takePending(world, invoice, subscription.id);
  world.emit('invoice.created', invoice);
  finalize(world, invoice);
  if (invoice.amount_due > 0) attempt(world, invoice, cardOutcome(world, idOf(subscription.customer)));
}

export function setCancelAtPeriodEnd(
  world: World,
  subscription: Stripe.Subscription,
  cancels: boolean,
): void {
  mustLive(subscription);
  subscription.cancel_at_period_end = cancels;
  subscription.cancel_at = cancels ? endOf(subscription) : null;
  subscription.canceled_at = cancels ? world.now() : null;
  world.emit('customer.subscription.updated', subscription);
}

export function cancelNow(world: World, subscription: Stripe.Subscription): void {
  mustLive(subscription);
  endSubscription(world, subscription, 'cancellation_requested');
}

export function pause(world: World, subscription: Stripe.Subscription): void {
  mustLive(subscription);
  subscription.status = 'paused';
  world.emit('customer.subscription.paused', subscription);
}

export function unpause(world: World, subscription: Stripe.Subscription): void {
  if (subscription.status !== 'paused') throw invalid('The subscription is not paused.');
  setStatus(world, subscription, 'active');
  world.emit('customer.subscription.resumed', subscription);
}

/** Periods end with the item, not with the subscription. */
export const endOf = (subscription: Stripe.Subscription): number =>
  Math.min(...subscription.items.data.map((item) => item.current_period_end));

function mustLive(subscription: Stripe.Subscription): void {
  if (LIVE.includes(subscription.status)) return;
  throw invalid(
    `A ${subscription.status} subscription can only update its cancellation_details and metadata.`,
  );
}
