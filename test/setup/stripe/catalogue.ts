/** Products and prices. */
import Stripe from 'stripe';
import { changedMetadata, type Params } from './forms.ts';
import { nulls } from './nulls.ts';
import { mustBePayable } from './payable.ts';
import { invalid } from './refusal.ts';
import { accepts, get, lists, matching, pageOf, PAGING, post, shows, type Route } from './routes.ts';
import type { World } from './world.ts';

/** Makes a product, whose name is by default its id. */
export function newProduct(world: World, name?: string, more: Partial<Stripe.Product> = {}): Stripe.Product {
  const id = more.id ?? world.nextId('prod');
  const product: Stripe.Product = {
    ...nulls('default_price description package_dimensions shippable statement_descriptor'),
    ...nulls('tax_code tax_details unit_label url'),
    id,
    object: 'product',
    active: true,
    created: world.now(),
    images: [],
    livemode: world.settings.livemode,
    marketing_features: [],
    metadata: {},
    name: name ?? id,
    type: 'service',
    updated: world.now(),
    ...more,
  };
  world.tables.product.set(id, product);
  return product;
}

const createProduct = (world: World, params: Params): Stripe.Product =>
  newProduct(world, params.need('name'), {
    id: params.text('id') ?? world.nextId('prod'),
    active: params.flag('active') ?? true,
    description: params.text('description') ?? null,
    metadata: params.map('metadata') ?? {},
    tax_code: params.text('tax_code') ?? null,
  });

export interface NewPrice {
  readonly currency: string;
  readonly unitAmount: number;
  readonly product: string;
  readonly recurring?: { interval: Stripe.Price.Recurring.Interval; count: number } | undefined;
  readonly lookupKey?: string | undefined;
  readonly nickname?: string | undefined;
  readonly metadata?: Record<string, string> | undefined;
}

export function createPrice(world: World, given: NewPrice): Stripe.Price {
  const price: Stripe.Price = {
    id: world.nextId('price'),
    object: 'price',
    active: true,
    billing_scheme: 'per_unit',
    created: world.now(),
    currency: given.currency,
    custom_unit_amount: null,
    livemode: world.settings.livemode,
    lookup_key: given.lookupKey ?? null,
    metadata: given.metadata ?? {},
    nickname: given.nickname ?? null,
    product: given.product,
    recurring:
      given.recurring === undefined
        ? null
        : {
            interval: given.recurring.interval,
            interval_count: given.recurring.count,
            meter: null,
            trial_period_days: null,
            usage_type: 'licensed',
          },
    tax_behavior: 'unspecified',
    tiers_mode: null,
    transform_quantity: null,
    type: given.recurring === undefined ? 'one_time' : 'recurring',
    unit_amount: given.unitAmount,
    unit_amount_decimal: Stripe.Decimal.from(given.unitAmount),
  };
  world.tables.price.set(price.id, price);
  return price;
}

const INTERVALS = ['day', 'week', 'month', 'year'] as const;

/** Greatest amount of one price, in minor units. */
const MOST = 99_999_999;

/** Reads `price_data` and the body of a new price: they are written alike. */
export function readPrice(world: World, params: Params): NewPrice {
  const recurring = params.child('recurring');
  const interval = recurring?.choice('interval', INTERVALS);
  if (recurring !== undefined && interval === undefined) recurring.need('interval');
  const unitAmount = params.whole('unit_amount');
  if (unitAmount === undefined)
    throw invalid('You must specify `unit_amount`.', { param: 'unit_amount', code: 'parameter_missing' });
  if (unitAmount < 0) throw invalid('Invalid non-negative integer', { param: 'unit_amount' });
  if (unitAmount > MOST) throw invalid('Invalid integer', { param: 'unit_amount', code: 'amount_too_large' });
  const currency = params.need('currency').toLowerCase();
  mustBePayable(unitAmount, currency, 'unit_amount');
  const data = params.child('product_data');
  const product =
    data === undefined
      ? world.find('product', params.need('product'), 'product')
      : createProduct(world, data);
  return {
    currency,
    unitAmount,
    product: product.id,
    recurring:
      interval === undefined ? undefined : { interval, count: recurring?.whole('interval_count') ?? 1 },
  };
}

function created(world: World, params: Params): Stripe.Price {
  const lookupKey = params.text('lookup_key');
  const holder = [...world.tables.price.values()].find(
    (each) => lookupKey !== undefined && each.lookup_key === lookupKey,
  );
  if (holder !== undefined && params.flag('transfer_lookup_key') !== true)
    throw invalid(
      `A price (\`${holder.id}\`) already uses that lookup key. You may transfer the lookup key by setting \`transfer_lookup_key\`.`,
      { param: 'lookup_key' },
    );
  const price = createPrice(world, {
    ...readPrice(world, params),
    lookupKey,
    nickname: params.text('nickname'),
    metadata: params.map('metadata'),
  });
  if (holder !== undefined) holder.lookup_key = null;
  price.active = params.flag('active') ?? true;
  world.emit('price.created', price);
  return price;
}

function updated(world: World, price: Stripe.Price, params: Params): Stripe.Price {
  price.active = params.flag('active') ?? price.active;
  if (params.has('nickname')) price.nickname = params.text('nickname') || null;
  if (params.has('lookup_key')) price.lookup_key = params.text('lookup_key') || null;
  price.metadata = changedMetadata(price.metadata, params);
  world.emit('price.updated', price);
  return price;
}

function listed(world: World, params: Params): Stripe.ApiList<Stripe.Price> {
  const keys = params.texts('lookup_keys');
  if (keys.length > 10) throw invalid('Array must contain at most 10 elements.', { param: 'lookup_keys' });
  const active = params.flag('active');
  const all = matching(world.tables.price.values(), params, ['product', 'currency', 'type']).filter(
    (each) =>
      (active === undefined || each.active === active) &&
      (!params.has('lookup_keys') || (each.lookup_key !== null && keys.includes(each.lookup_key))),
  );
  return pageOf(params, { path: '/v1/prices', all });
}

export const catalogueRoutes: readonly Route[] = [
  post(
    '/v1/products',
    accepts<Stripe.ProductCreateParams>(
      'id',
      'name',
      'active',
      'description',
      'metadata',
      'tax_code',
      'expand',
    ),
    ({ world, params }) => {
      const product = createProduct(world, params);
      world.emit('product.created', product);
      return product;
    },
  ),
  shows('product', '/v1/products'),
  lists('product', '/v1/products'),
  post(
    '/v1/prices',
    accepts<Stripe.PriceCreateParams>(
      'currency',
      'unit_amount',
      'product',
      'product_data',
      'recurring',
      'lookup_key',
      'transfer_lookup_key',
      'nickname',
      'metadata',
      'active',
      'expand',
    ),
    ({ world, params }) => created(world, params),
  ),
  shows('price', '/v1/prices'),
  post(
    '/v1/prices/:id',
    accepts<Stripe.PriceUpdateParams>('active', 'nickname', 'lookup_key', 'metadata', 'expand'),
    ({ world, params, id }) => updated(world, world.find('price', id), params),
  ),
  get(
    '/v1/prices',
    [...PAGING, 'active', 'currency', 'lookup_keys', 'product', 'type'],
    ({ world, params }) => listed(world, params),
  ),
];
