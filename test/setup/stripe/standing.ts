/** Changes a subscription by what becomes of its invoice's payment. */
import type Stripe from 'stripe';
import { nulls } from './nulls.ts';
import { idOf, type World } from './world.ts';

export function subscriptionOf(world: World, invoice: Stripe.Invoice): Stripe.Subscription | undefined {
  const id = idOf(invoice.parent?.subscription_details?.subscription);
  return world.tables.subscription.get(id);
}

export function afterPaid(world: World, invoice: Stripe.Invoice): void {
  const subscription = subscriptionOf(world, invoice);
  if (subscription === undefined || idOf(subscription.latest_invoice) !== invoice.id) return;
  if (!['incomplete', 'past_due', 'unpaid'].includes(subscription.status)) return;
  setStatus(world, subscription, 'active');
}

export function afterFailed(world: World, invoice: Stripe.Invoice): void {
  const subscription = subscriptionOf(world, invoice);
  if (subscription === undefined) return;
  if (subscription.status === 'active') setStatus(world, subscription, 'past_due');
  if (invoice.next_payment_attempt !== null || subscription.status !== 'past_due') return;
  if (world.settings.afterRetries === 'unpaid') setStatus(world, subscription, 'unpaid');
  if (world.settings.afterRetries === 'canceled') endSubscription(world, subscription, 'payment_failed');
}

export function setStatus(
  world: World,
  subscription: Stripe.Subscription,
  status: Stripe.Subscription.Status,
): void {
  subscription.status = status;
  world.emit('customer.subscription.updated', subscription);
}

export function endSubscription(
  world: World,
  subscription: Stripe.Subscription,
  reason: Stripe.Subscription.CancellationDetails.Reason,
): void {
  subscription.status = 'canceled';
  subscription.ended_at = world.now();
  subscription.canceled_at ??= world.now();
  subscription.cancellation_details = { ...nulls('comment feedback feedback_option'), reason };
  leaveUnpaid(world, (invoice) => subscriptionOf(world, invoice) === subscription);
  world.emit('customer.subscription.deleted', subscription);
}

/** The rest that is still owed waits for a person. Nothing is tried any more. */
export function leaveUnpaid(world: World, fits: (invoice: Stripe.Invoice) => boolean): void {
  for (const invoice of world.tables.invoice.values()) {
    if ((invoice.status !== 'open' && invoice.status !== 'draft') || !fits(invoice)) continue;
    invoice.auto_advance = false;
    invoice.automatically_finalizes_at = null;
    invoice.next_payment_attempt = null;
  }
}

export const LIVE: readonly string[] = ['active', 'trialing', 'past_due', 'unpaid', 'incomplete', 'paused'];
