import type Stripe from 'stripe';
import { changedMetadata, type Params } from './forms.ts';
import { cardOutcome } from './invoices.ts';
import { invalid } from './refusal.ts';
import { accepts, del, get, matching, pageOf, PAGING, post, shows, type Call, type Route } from './routes.ts';
import { anchorOf } from './sessions.ts';
import {
  cancelNow,
  changePlan,
  pause,
  PRORATIONS,
  setCancelAtPeriodEnd,
  unpause,
} from './subscription-changes.ts';
import { startSubscription } from './subscriptions.ts';
import type { World } from './world.ts';

const PATH = '/v1/subscriptions';
const ENDED: readonly string[] = ['canceled', 'incomplete_expired'];

function created({ world, params }: Call): Stripe.Subscription {
  const customer = world.find('customer', params.need('customer'), 'customer');
  if (params.list('items').length === 0) params.need('items');
  return startSubscription(world, {
    customer: customer.id,
    items: params.list('items').map((item) => ({
      price: world.find('price', item.need('price'), 'items[0][price]'),
      quantity: item.whole('quantity') ?? 1,
    })),
    metadata: params.map('metadata') ?? {},
    outcome: cardOutcome(world, customer.id),
    anchor: anchorOf(params.child('billing_cycle_anchor_config')),
    automaticTax: params.child('automatic_tax')?.flag('enabled'),
    prorates: params.choice('proration_behavior', PRORATIONS) !== 'none',
  });
}

function updated({ world, params, id }: Call): Stripe.Subscription {
  const subscription = world.find('subscription', id);
  const [item, more] = params.list('items');
  if (more !== undefined) throw invalid('The counterpart changes one item at a time.', { param: 'items' });
  const change = item === undefined ? undefined : changeOf({ world, params, subscription, item });
  const cancels = params.flag('cancel_at_period_end');
  subscription.metadata = changedMetadata(subscription.metadata, params);
  if (change !== undefined) changePlan(world, subscription, change);
  if (cancels !== undefined) setCancelAtPeriodEnd(world, subscription, cancels);
  if (change === undefined && cancels === undefined)
    world.emit('customer.subscription.updated', subscription);
  return subscription;
}

interface SubscriptionForm extends Pick<Call, 'world' | 'params'> {
  readonly subscription: Stripe.Subscription;
  readonly item: Params;
}

function changeOf({ world, params, subscription, item: given }: SubscriptionForm) {
  given.only(['id', 'price', 'quantity']);
  const id = given.need('id');
  const item = subscription.items.data.find((each) => each.id === id);
  if (item === undefined) throw invalid(`No such subscription item: '${id}'`, { param: 'items[0][id]' });
  const price = given.text('price');
  return {
    item,
    price: price === undefined ? item.price : world.find('price', price, 'items[0][price]'),
    quantity: given.whole('quantity') ?? item.quantity ?? 1,
    proration: params.choice('proration_behavior', PRORATIONS) ?? ('create_prorations' as const),
  };
}

function listed({ world, params }: Call): Stripe.ApiList<Stripe.Subscription> {
  const status = params.text('status');
  const fits = ({ status: own }: Stripe.Subscription) => {
    if (status === 'all') return true;
    if (status === 'ended') return ENDED.includes(own);
    // All that have not been cancelled are listed without a status.
    return status === undefined ? own !== 'canceled' : own === status;
  };
  const price = params.text('price');
  return pageOf(params, {
    path: PATH,
    all: matching(world.tables.subscription.values(), params, ['customer']).filter(
      (each) =>
        fits(each) && (price === undefined || each.items.data.some((item) => item.price.id === price)),
    ),
  });
}

const act = (name: string, change: (world: World, subscription: Stripe.Subscription) => void): Route =>
  post(`${PATH}/:id/${name}`, ['expand'], ({ world, id }) => {
    const subscription = world.find('subscription', id);
    change(world, subscription);
    return subscription;
  });

export const subscriptionRoutes: readonly Route[] = [
  post(
    PATH,
    accepts<Stripe.SubscriptionCreateParams>(
      'customer',
      'items',
      'metadata',
      'billing_cycle_anchor_config',
      'proration_behavior',
      'payment_behavior',
      'automatic_tax',
      'expand',
    ),
    created,
  ),
  shows('subscription', PATH),
  post(
    `${PATH}/:id`,
    accepts<Stripe.SubscriptionUpdateParams>(
      'items',
      'metadata',
      'cancel_at_period_end',
      'proration_behavior',
      'payment_behavior',
      'expand',
    ),
    updated,
  ),
  del(
    `${PATH}/:id`,
    accepts<Stripe.SubscriptionCancelParams>('cancellation_details', 'expand'),
    ({ world, id }) => {
      const subscription = world.find('subscription', id);
      if (ENDED.includes(subscription.status))
        throw invalid(`No such subscription: '${id}'`, { param: 'id', code: 'resource_missing' });
      cancelNow(world, subscription);
      return subscription;
    },
  ),
  act('pause', pause),
  act('resume', unpause),
  get(PATH, [...PAGING, 'customer', 'status', 'price'], listed),
];
