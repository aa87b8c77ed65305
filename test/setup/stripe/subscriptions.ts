/** Starts subscriptions: how they begin, and what their first invoice charges. */
import type Stripe from 'stripe';
import { addLine, draftInvoice } from './invoice-object.ts';
import { attempt, finalize } from './invoices.ts';
import { nulls } from './nulls.ts';
import type { Outcome } from './payments.ts';
import { nextAnchor, periodEnd, previousStart } from './periods.ts';
import { invalid } from './refusal.ts';
import { setStatus } from './standing.ts';
import { idOf, type Anchor, type World } from './world.ts';

export interface NewSubscription {
  readonly customer: string;
  readonly items: readonly { price: Stripe.Price; quantity: number }[];
  readonly metadata: Record<string, string>;
  readonly outcome: Outcome;
  readonly anchor?: Anchor | undefined;
  readonly automaticTax?: boolean | undefined;
  /** Without: the time to the first anchor costs nothing. */
  readonly prorates?: boolean;
}

export function startSubscription(world: World, given: NewSubscription): Stripe.Subscription {
  const [first] = given.items;
  if (first === undefined) throw invalid('You must provide `items`.', { param: 'items' });
  const now = world.now();
  const anchor = given.anchor === undefined ? now : nextAnchor(given.anchor, now);
  const subscription = newSubscription(world, given, anchor);
  const end = anchor > now ? anchor : periodEnd(anchor, recurringOf(first.price), now);
  for (const { price, quantity } of given.items)
    subscription.items.data.push(newItem(world, { subscription, price, quantity, start: now, end }));
  world.tables.subscription.set(subscription.id, subscription);
  world.emit('customer.subscription.created', subscription);
  chargeFirst(world, subscription, given);
  return subscription;
}

/** The first invoice is finalised and tried at once. */
function chargeFirst(world: World, subscription: Stripe.Subscription, given: NewSubscription): void {
  const invoice = draftInvoice(world, {
    customer: given.customer,
    currency: subscription.currency,
    reason: 'subscription_create',
    autoAdvance: false,
    subscription,
  });
  for (const item of subscription.items.data) {
    const recurring = recurringOf(item.price);
    const full = (item.price.unit_amount ?? 0) * (item.quantity ?? 1);
    const whole =
      item.current_period_end -
      previousStart(subscription.billing_cycle_anchor, recurring, item.current_period_end);
    const part = item.current_period_end - item.current_period_start;
    addItemLine(world, invoice, {
      item,
      amount: given.prorates === false && part < whole ? 0 : Math.round((full * part) / whole),
    });
  }
  world.emit('invoice.created', invoice);
  finalize(world, invoice);
  if (invoice.amount_due > 0) attempt(world, invoice, given.outcome);
  if (given.outcome === 'pending' && subscription.status === 'incomplete')
    setStatus(world, subscription, 'active');
}

export function addItemLine(
  world: World,
  invoice: Stripe.Invoice,
  { item, amount }: { item: Stripe.SubscriptionItem; amount: number },
): void {
  addLine(world, invoice, {
    amount,
    description: `${item.quantity ?? 1} × ${nameOf(world, item.price)}`,
    period: { start: item.current_period_start, end: item.current_period_end },
    price: item.price,
    quantity: item.quantity,
    parent: {
      type: 'subscription_item_details',
      invoice_item_details: null,
      subscription_item_details: {
        invoice_item: null,
        proration: false,
        proration_details: null,
        subscription: item.subscription,
        subscription_item: item.id,
      },
    },
  });
}

export const nameOf = (world: World, price: Stripe.Price): string =>
  world.tables.product.get(idOf(price.product))?.name ?? price.id;

export function recurringOf(price: Stripe.Price): Stripe.Price.Recurring {
  if (price.recurring !== null) return price.recurring;
  throw invalid(
    'The price specified is set to `type=one_time` but this field only accepts prices with `type=recurring`.',
    { param: 'items[0][price]' },
  );
}

interface NewItem {
  readonly subscription: Stripe.Subscription;
  readonly price: Stripe.Price;
  readonly quantity: number;
  readonly start: number;
  readonly end: number;
}

function newItem(world: World, given: NewItem): Stripe.SubscriptionItem {
  return {
    id: world.nextId('si'),
    object: 'subscription_item',
    billing_thresholds: null,
    created: world.now(),
    current_period_end: given.end,
    current_period_start: given.start,
    current_trial: null,
    discounts: [],
    metadata: {},
    plan: planOf(given.price),
    price: given.price,
    quantity: given.quantity,
    subscription: given.subscription.id,
    tax_rates: [],
  };
}

/** The old word for a recurring price, which items still carry. */
export function planOf(price: Stripe.Price): Stripe.Plan {
  const recurring = recurringOf(price);
  return {
    ...nulls('meter tiers_mode transform_usage trial_period_days'),
    id: price.id,
    object: 'plan',
    active: price.active,
    amount: price.unit_amount,
    amount_decimal: price.unit_amount_decimal,
    billing_scheme: price.billing_scheme,
    created: price.created,
    currency: price.currency,
    interval: recurring.interval,
    interval_count: recurring.interval_count,
    livemode: price.livemode,
    metadata: price.metadata,
    nickname: price.nickname,
    product: price.product,
    usage_type: 'licensed',
  };
}

function newSubscription(world: World, given: NewSubscription, anchor: number): Stripe.Subscription {
  const id = world.nextId('sub');
  return {
    ...nulls(
      'application application_fee_percent billing_thresholds cancel_at canceled_at customer_account',
      'days_until_due default_payment_method default_source description ended_at latest_invoice',
      'managed_payments next_pending_invoice_item_invoice on_behalf_of pause_collection',
      'payment_settings pending_invoice_item_interval pending_setup_intent pending_update schedule',
      'test_clock transfer_data trial_end trial_settings trial_start',
    ),
    id,
    object: 'subscription',
    automatic_tax: { disabled_reason: null, enabled: given.automaticTax ?? false, liability: null },
    billing_cycle_anchor: anchor,
    billing_cycle_anchor_config:
      given.anchor === undefined
        ? null
        : {
            day_of_month: given.anchor.dayOfMonth,
            hour: given.anchor.hour,
            minute: given.anchor.minute,
            month: null,
            second: given.anchor.second,
          },
    billing_mode: { flexible: null, type: 'classic' },
    billing_schedules: [],
    cancel_at_period_end: false,
    cancellation_details: nulls('comment feedback feedback_option reason'),
    collection_method: 'charge_automatically',
    created: world.now(),
    currency: given.items[0]?.price.currency ?? 'usd',
    customer: given.customer,
    default_tax_rates: [],
    discounts: [],
    invoice_settings: {
      ...nulls('account_tax_ids custom_fields description footer'),
      issuer: { type: 'self' },
    },
    items: {
      object: 'list',
      data: [],
      has_more: false,
      url: `/v1/subscription_items?subscription=${id}`,
    },
    livemode: world.settings.livemode,
    metadata: given.metadata,
    start_date: world.now(),
    status: 'incomplete',
  };
}
