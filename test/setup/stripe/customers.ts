import type Stripe from 'stripe';
import { changedMetadata } from './forms.ts';
import { nulls } from './nulls.ts';
import { accepts, del, get, lists, post, type Route } from './routes.ts';
import { endSubscription, leaveUnpaid, LIVE } from './standing.ts';
import { idOf, type World } from './world.ts';

interface NewCustomer {
  readonly email?: string | undefined;
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  readonly metadata?: Record<string, string> | undefined;
}

export function createCustomer(world: World, given: NewCustomer): Stripe.Customer {
  const id = world.nextId('cus');
  const customer: Stripe.Customer = {
    ...nulls('address currency default_source discount phone shipping test_clock'),
    id,
    object: 'customer',
    balance: 0,
    created: world.now(),
    delinquent: false,
    description: given.description ?? null,
    email: given.email ?? null,
    invoice_prefix: `C${id.slice(-7)}`,
    invoice_settings: nulls('custom_fields default_payment_method footer rendering_options'),
    livemode: world.settings.livemode,
    metadata: given.metadata ?? {},
    name: given.name ?? null,
    next_invoice_sequence: 1,
    preferred_locales: [],
    tax_exempt: 'none',
  };
  world.tables.customer.set(id, customer);
  world.emit('customer.created', customer);
  return customer;
}

const FIELDS = accepts<Stripe.CustomerCreateParams>('email', 'name', 'description', 'metadata', 'expand');

/** Its subscriptions end, and nothing is charged any more; what was paid stays. */
function deleteCustomer(world: World, id: string): Stripe.DeletedCustomer {
  const customer = world.find('customer', id);
  for (const subscription of world.tables.subscription.values())
    if (idOf(subscription.customer) === id && LIVE.includes(subscription.status))
      endSubscription(world, subscription, 'cancellation_requested');
  leaveUnpaid(world, (invoice) => idOf(invoice.customer) === id);
  world.tables.customer.delete(id);
  world.cards.delete(id);
  const deleted: Stripe.DeletedCustomer = { id, object: 'customer', deleted: true };
  world.deletedCustomers.set(id, deleted);
  world.emit('customer.deleted', customer);
  return deleted;
}

export const customerRoutes: readonly Route[] = [
  post('/v1/customers', FIELDS, ({ world, params }) =>
    createCustomer(world, {
      email: params.text('email'),
      name: params.text('name'),
      description: params.text('description'),
      metadata: params.map('metadata'),
    }),
  ),
  get(
    '/v1/customers/:id',
    ['expand'],
    ({ world, id }) => world.deletedCustomers.get(id) ?? world.find('customer', id),
  ),
  del('/v1/customers/:id', [], ({ world, id }) => deleteCustomer(world, id)),
  post('/v1/customers/:id', FIELDS, ({ world, params, id }) => {
    const customer = world.find('customer', id);
    if (params.has('email')) customer.email = params.text('email') || null;
    if (params.has('name')) customer.name = params.text('name') || null;
    if (params.has('description')) customer.description = params.text('description') || null;
    customer.metadata = changedMetadata(customer.metadata, params);
    world.emit('customer.updated', customer);
    return customer;
  }),
  lists('customer', '/v1/customers', 'email'),
];
