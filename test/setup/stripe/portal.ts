/** Makes sessions of the customer portal. What a person does there are controls of the subscription. */
import type Stripe from 'stripe';
import type { Params } from './forms.ts';
import { invalid } from './refusal.ts';
import { accepts, post, type Call, type Route } from './routes.ts';
import { LIVE } from './standing.ts';
import { idOf, type World } from './world.ts';

type Flow = Stripe.BillingPortal.Session.Flow;

const FLOWS = [
  'payment_method_update',
  'subscription_cancel',
  'subscription_update',
  'subscription_update_confirm',
] as const;

function created({ world, params }: Call): Stripe.BillingPortal.Session {
  const customer = world.find('customer', params.need('customer'), 'customer');
  const flow = flowOf({ world, params, customer: customer.id });
  const id = world.nextId('bps');
  const session: Stripe.BillingPortal.Session = {
    id,
    object: 'billing_portal.session',
    configuration: 'bpc_00000000000001',
    created: world.now(),
    customer: customer.id,
    customer_account: null,
    flow,
    livemode: world.settings.livemode,
    locale: null,
    on_behalf_of: null,
    return_url: params.text('return_url') ?? null,
    url: `${world.origin}/p/session/${id}`,
  };
  world.tables['billing_portal.session'].set(id, session);
  return session;
}

type PortalRequest = Pick<Call, 'world' | 'params'> & { readonly customer: string };

function flowOf({ world, params, customer }: PortalRequest): Flow | null {
  const given = params.child('flow_data');
  if (given === undefined) return null;
  given.only(['type', 'after_completion', ...FLOWS]);
  const type = given.choice('type', FLOWS) ?? FLOWS[0];
  given.need('type');
  const of = (name: (typeof FLOWS)[number]) => {
    if (type !== name) return null;
    const child = given.child(name);
    if (child === undefined)
      throw invalid(`Missing required param: flow_data[${name}].`, { param: `flow_data[${name}]` });
    return { child, subscription: subscriptionOf(world, child, customer) };
  };
  const update = of('subscription_update');
  const cancel = of('subscription_cancel');
  const confirm = of('subscription_update_confirm');
  return {
    after_completion: afterCompletion(given.child('after_completion')),
    customer_update: null,
    subscription_cancel: cancel && { retention: null, subscription: cancel.subscription.id },
    subscription_pause: null,
    subscription_update: update && { subscription: update.subscription.id },
    subscription_update_confirm: confirm && {
      discounts: null,
      items: confirm.child.list('items').map((item) => itemOf(world, item, confirm.subscription)),
      subscription: confirm.subscription.id,
    },
    type,
  };
}

function subscriptionOf(world: World, params: Params, customer: string): Stripe.Subscription {
  const subscription = world.find('subscription', params.need('subscription'), 'flow_data[subscription]');
  if (idOf(subscription.customer) === customer && LIVE.includes(subscription.status)) return subscription;
  throw invalid(`The subscription ${subscription.id} is not one that this customer can change.`, {
    param: 'flow_data',
  });
}

function itemOf(world: World, params: Params, subscription: Stripe.Subscription) {
  const id = params.need('id');
  if (!subscription.items.data.some((item) => item.id === id))
    throw invalid(`The subscription has no item '${id}'.`, { param: 'flow_data' });
  const price = world.find('price', params.need('price'), 'flow_data');
  return { id, price: price.id, quantity: params.whole('quantity') ?? 1 };
}

function afterCompletion(params: Params | undefined): Flow['after_completion'] {
  const type = params?.choice('type', ['hosted_confirmation', 'portal_homepage', 'redirect']);
  const redirect = params?.child('redirect')?.need('return_url');
  return {
    hosted_confirmation: null,
    redirect: redirect === undefined ? null : { return_url: redirect },
    type: type ?? 'portal_homepage',
  };
}

export const portalRoutes: readonly Route[] = [
  post(
    '/v1/billing_portal/sessions',
    accepts<Stripe.BillingPortal.SessionCreateParams>(
      'customer',
      'return_url',
      'flow_data',
      'locale',
      'expand',
    ),
    created,
  ),
];
