/** Checkout sessions, as the API makes and shows them. */
import type Stripe from 'stripe';
import { createPrice, readPrice } from './catalogue.ts';
import type { Params } from './forms.ts';
import { minimumOf } from './invoices.ts';
import { HOUR } from './periods.ts';
import { invalid } from './refusal.ts';
import { accepts, get, lists, pageOf, PAGING, post, shows, type Call, type Route } from './routes.ts';
import { newSession } from './session-object.ts';
import { expireSession } from './session-page.ts';
import { nameOf } from './subscriptions.ts';
import type { Anchor, Purchase, World } from './world.ts';

const MODES = ['payment', 'subscription', 'setup'] as const;

function created({ world, params }: Call): Stripe.Checkout.Session {
  const mode = params.choice('mode', MODES);
  if (mode === undefined) params.need('mode');
  if (mode === 'setup') throw invalid('The counterpart has no setup sessions.', { param: 'mode' });
  const customer = params.text('customer');
  if (customer !== undefined) world.find('customer', customer, 'customer');
  if (customer !== undefined && params.has('customer_email'))
    throw invalid('You may only specify one of these parameters: customer, customer_email.', {
      param: 'customer_email',
    });
  mustBeAddress(params, 'success_url');
  if (params.has('cancel_url')) mustBeAddress(params, 'cancel_url');
  const endsAt = endOfSession(world, params);
  const lines = linesOf(world, params, mode);
  const purchase = purchaseOf({ params, lines, endsAt: endsAt.own, mode });
  const session = newSession(world, params, { mode: mode ?? 'payment', lines, expiresAt: endsAt.shown });
  world.tables['checkout.session'].set(session.id, session);
  world.purchases.set(session.id, purchase);
  return session;
}

function mustBeAddress(params: Params, name: string): void {
  if (!/^https?:\/\/[^\s/]/.test(params.need(name)))
    throw invalid('Not a valid URL', { param: name, code: 'url_invalid' });
}

/**
 * Sessions live by the wall clock, as at Stripe, whose test clocks move subscriptions alone; here they end by
 * either.
 */
function endOfSession(world: World, params: Params): { shown: number; own: number } {
  const wall = Math.floor(world.wallNow().getTime() / 1000);
  const asked = params.whole('expires_at');
  if (asked === undefined) return { shown: world.now() + 24 * HOUR, own: world.now() + 24 * HOUR };
  // The library asks a moment after it computed what is exactly half an hour ahead.
  const left = [asked - world.now(), asked - wall].find(
    (each) => each > HOUR / 2 - 60 && each <= 24 * HOUR + 60,
  );
  if (left === undefined)
    throw invalid(
      'The `expires_at` timestamp must be between 30 minutes and 24 hours from Checkout Session creation.',
      { param: 'expires_at' },
    );
  return { shown: asked, own: world.now() + left };
}

function linesOf(world: World, params: Params, mode: string | undefined): Stripe.LineItem[] {
  const given = params.list('line_items');
  if (given.length === 0) params.need('line_items');
  const lines = given.map((line) => lineOf(world, line));
  const recurring = lines.filter((line) => line.price?.type === 'recurring').length;
  if (mode === 'payment' && recurring > 0)
    throw invalid(
      'You specified `payment` mode but passed a recurring price. Either switch to `subscription` mode or use only one-time prices.',
      { param: 'line_items' },
    );
  if (mode === 'subscription' && recurring === 0)
    throw invalid('You must provide at least one recurring price in `subscription` mode.', {
      param: 'line_items',
    });
  const total = lines.reduce((sum, line) => sum + line.amount_total, 0);
  const [{ currency } = { currency: '' }] = lines;
  if (mode === 'payment' && total > 0 && total < minimumOf(currency))
    throw invalid(
      `The Checkout Session's total amount due must add up to at least ${minimumOf(currency)} of ${currency}.`,
      { code: 'amount_too_small' },
    );
  if (new Set(lines.map((line) => line.currency)).size > 1)
    throw invalid('All prices on a Checkout Session must be in the same currency.', { param: 'line_items' });
  return lines;
}

function lineOf(world: World, params: Params): Stripe.LineItem {
  params.only(['price', 'price_data', 'quantity']);
  const data = params.child('price_data');
  const price =
    data === undefined
      ? world.find('price', params.need('price'), 'line_items[0][price]')
      : createPrice(world, readPrice(world, data));
  if (!price.active)
    throw invalid(`The price specified is inactive. This field only accepts active prices.`, {
      param: 'line_items[0][price]',
    });
  const quantity = params.whole('quantity') ?? 1;
  if (quantity < 1) throw invalid('Invalid quantity', { param: 'line_items[0][quantity]' });
  // A price that was made for this session alone sells nothing else.
  if (data !== undefined) price.active = false;
  const amount = (price.unit_amount ?? 0) * quantity;
  return {
    id: world.nextId('li'),
    object: 'item',
    adjustable_quantity: null,
    amount_discount: 0,
    amount_subtotal: amount,
    amount_tax: 0,
    amount_total: amount,
    currency: price.currency,
    description: nameOf(world, price),
    metadata: {},
    price,
    quantity,
  };
}

interface SessionForm {
  readonly params: Params;
  readonly lines: Stripe.LineItem[];
  readonly endsAt: number;
  readonly mode: string | undefined;
}

function purchaseOf({ params, lines, endsAt, mode }: SessionForm): Purchase {
  const subscription = params.child('subscription_data');
  const payment = params.child('payment_intent_data');
  if (subscription !== undefined && mode !== 'subscription')
    throw invalid('You can not pass `subscription_data` in `payment` mode.', { param: 'subscription_data' });
  if (payment !== undefined && mode !== 'payment')
    throw invalid('You can not pass `payment_intent_data` in `subscription` mode.', {
      param: 'payment_intent_data',
    });
  subscription?.only(['metadata', 'billing_cycle_anchor_config', 'proration_behavior', 'description']);
  payment?.only(['metadata', 'description', 'setup_future_usage']);
  const anchor = anchorOf(subscription?.child('billing_cycle_anchor_config'));
  return {
    lines,
    endsAt,
    subscriptionMetadata: subscription?.map('metadata') ?? {},
    paymentMetadata: payment?.map('metadata') ?? {},
    prorates: subscription?.choice('proration_behavior', ['create_prorations', 'none']) !== 'none',
    ...(anchor === undefined ? {} : { anchor }),
  };
}

export function anchorOf(params: Params | undefined): Anchor | undefined {
  if (params === undefined) return undefined;
  params.only(['day_of_month', 'hour', 'minute', 'second']);
  const dayOfMonth = params.whole('day_of_month');
  if (dayOfMonth === undefined) params.need('day_of_month');
  if (dayOfMonth === undefined || dayOfMonth < 1 || dayOfMonth > 31)
    throw invalid('`day_of_month` must be between 1 and 31.', { param: 'billing_cycle_anchor_config' });
  return {
    dayOfMonth,
    hour: params.whole('hour') ?? 0,
    minute: params.whole('minute') ?? 0,
    second: params.whole('second') ?? 0,
  };
}

const PATH = '/v1/checkout/sessions';

export const sessionRoutes: readonly Route[] = [
  post(
    PATH,
    accepts<Stripe.Checkout.SessionCreateParams>(
      'mode',
      'line_items',
      'customer',
      'customer_email',
      'customer_creation',
      'customer_update',
      'client_reference_id',
      'metadata',
      'success_url',
      'cancel_url',
      'expires_at',
      'subscription_data',
      'payment_intent_data',
      'automatic_tax',
      'tax_id_collection',
      'billing_address_collection',
      'allowed_payment_method_types',
      'payment_method_collection',
      'currency',
      'locale',
      'submit_type',
      'ui_mode',
      'expand',
    ),
    created,
  ),
  shows('checkout.session', PATH),
  get(`${PATH}/:id/line_items`, PAGING, ({ world, params, id }) => {
    world.find('checkout.session', id);
    const lines = world.purchases.get(id)?.lines ?? [];
    return pageOf(params, { path: `${PATH}/${id}/line_items`, all: [...lines].reverse() });
  }),
  post(`${PATH}/:id/expire`, ['expand'], ({ world, id }) =>
    expireSession(world, world.find('checkout.session', id)),
  ),
  lists('checkout.session', PATH, 'customer', 'payment_intent', 'subscription', 'status'),
];
