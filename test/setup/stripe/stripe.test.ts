/** This story tests the door of the counterpart: keys, forms, errors, pages, saved answers, faults. */
import Stripe from 'stripe';
import { afterAll, describe, expect, it } from 'vitest';
import { clientOf, DAY, refusalOf, SECRET, startBench } from './bench.ts';
import { signatureOf } from './index.ts';

const bench = await startBench();
const { stripe } = bench;
afterAll(bench.stop);

describe('signatures', () => {
  it('are what the library computes, over the whole text of the secret', () => {
    expect(signatureOf('{"id":"evt_test"}', { secrets: [SECRET], at: 1_700_000_000 })).toBe(
      't=1700000000,v1=13941114bb88ac44a76abcfddea5b92aa6182a4b63d8be3aae908a616083bd7e',
    );
    const header = signatureOf('{}', { secrets: ['whsec_old', SECRET], at: Math.floor(Date.now() / 1000) });
    expect(() => Stripe.webhooks.constructEvent('{}', header, SECRET, 300)).not.toThrow();
    expect(() => Stripe.webhooks.constructEvent('{ }', header, SECRET, 300)).toThrow();
  });
});

describe('the door', () => {
  it('refuses a wrong key, an unknown path, an unknown parameter, and what is missing', async () => {
    const stranger = clientOf({ ...bench.counterpart, key: 'sk_test_wrong_key' });
    expect(await refusalOf(stranger.customers.list())).toMatchObject({
      statusCode: 401,
      type: 'StripeAuthenticationError',
    });
    expect(await refusalOf(stripe.coupons.list())).toMatchObject({ statusCode: 404 });
    expect(await refusalOf(stripe.customers.create({ phone: '1' }))).toMatchObject({
      statusCode: 400,
      code: 'parameter_unknown',
      param: 'phone',
    });
    expect(await refusalOf(stripe.customers.retrieve('cus_none'))).toMatchObject({
      statusCode: 404,
      code: 'resource_missing',
      message: "No such customer: 'cus_none'",
    });
    const other = new Stripe(bench.counterpart.key, {
      host: bench.counterpart.host,
      port: bench.counterpart.port,
      protocol: 'http',
      telemetry: false,
    });
    const wrongVersion = other.customers.list({}, { apiVersion: '2020-08-27' });
    expect(await refusalOf(wrongVersion)).toMatchObject({ statusCode: 400 });
  });

  it('says which request it was, and reads nested forms', async () => {
    const customer = await stripe.customers.create({ metadata: { 'a[b]': 'x & y', n: 7 } });
    expect(customer.lastResponse.requestId).toMatch(/^req_\d+$/);
    expect(customer.lastResponse.apiVersion).toBe('2026-10-28.endive');
    expect(customer.metadata['n']).toBe('7');
    const changed = await stripe.customers.update(customer.id, { metadata: { n: '', m: '1' }, name: 'Ann' });
    expect(changed).toMatchObject({ name: 'Ann' });
    expect(changed.metadata['n']).toBeUndefined();
    expect(changed.metadata['m']).toBe('1');
  });

  it('gives lists in pages, the newest first', async () => {
    const made = [];
    for (let n = 0; n < 5; n += 1)
      made.push(await stripe.customers.create({ email: 'pages@example.com', name: `N${n}` }));
    const first = await stripe.customers.list({ email: 'pages@example.com', limit: 2 });
    expect(first.data.map(({ name }) => name)).toEqual(['N4', 'N3']);
    expect(first.has_more).toBe(true);
    const second = await stripe.customers.list({
      email: 'pages@example.com',
      limit: 3,
      starting_after: first.data[1]?.id ?? '',
    });
    expect(second.data.map(({ name }) => name)).toEqual(['N2', 'N1', 'N0']);
    expect(second.has_more).toBe(false);
    const all = await stripe.customers
      .list({ email: 'pages@example.com', limit: 2 })
      .autoPagingToArray({ limit: 100 });
    expect(all.map(({ id }) => id)).toEqual(made.map(({ id }) => id).reverse());
    expect(await refusalOf(stripe.customers.list({ limit: 101 }))).toMatchObject({ param: 'limit' });
  });

  it('expands what it is asked to, and nothing else', async () => {
    const { session, subscription, customer } = await bench.subscribed();
    const whole = await stripe.checkout.sessions.retrieve(session.id, {
      expand: ['line_items.data.price.product', 'subscription.latest_invoice.payments', 'customer'],
    });
    expect(whole.line_items?.data[0]?.price?.product).toMatchObject({ object: 'product' });
    expect(whole.customer).toMatchObject({ id: customer.id, object: 'customer' });
    expect(whole.subscription).toMatchObject({
      id: subscription.id,
      latest_invoice: { object: 'invoice', payments: { data: [{ status: 'paid' }] } },
    });
    const listed = await stripe.subscriptions.list({ customer: customer.id, expand: ['data.customer'] });
    expect(listed.data[0]?.customer).toMatchObject({ object: 'customer' });
    expect(await refusalOf(stripe.customers.retrieve(customer.id, { expand: ['nothing'] }))).toMatchObject({
      message: 'This property cannot be expanded (nothing).',
    });
  });

  it('finds prices by their lookup keys', async () => {
    const product = await stripe.products.create({ name: 'Team' });
    const price = await stripe.prices.create({
      product: product.id,
      currency: 'usd',
      unit_amount: 2900,
      recurring: { interval: 'month' },
      lookup_key: 'svc_team_usd_v1',
    });
    const found = await stripe.prices.list({ lookup_keys: ['svc_team_usd_v1', 'svc_none'], active: true });
    expect(found.data.map(({ id }) => id)).toEqual([price.id]);
    expect(found.data[0]?.unit_amount_decimal?.toString()).toBe('2900');
    await stripe.prices.update(price.id, { active: false });
    expect((await stripe.prices.list({ lookup_keys: ['svc_team_usd_v1'], active: true })).data).toEqual([]);
    const again = { product: product.id, currency: 'usd', unit_amount: 3000, lookup_key: 'svc_team_usd_v1' };
    expect(await refusalOf(stripe.prices.create(again))).toMatchObject({ param: 'lookup_key' });
    const moved = await stripe.prices.create({ ...again, transfer_lookup_key: true });
    expect(moved.lookup_key).toBe('svc_team_usd_v1');
  });
});

describe('idempotency', () => {
  it('gives the saved answer again, and forgets it after a day of its own time', async () => {
    const given = { name: 'Once' };
    const first = await stripe.customers.create(given, { idempotencyKey: 'once' });
    const second = await stripe.customers.create(given, { idempotencyKey: 'once' });
    expect(second.id).toBe(first.id);
    expect(second.lastResponse.headers['idempotent-replayed']).toBe('true');
    const other = stripe.customers.create({ name: 'Other' }, { idempotencyKey: 'once' });
    expect(await refusalOf(other)).toMatchObject({ statusCode: 400, type: 'StripeIdempotencyError' });
    await bench.counterpart.advance(DAY - 60_000);
    expect((await stripe.customers.create(given, { idempotencyKey: 'once' })).id).toBe(first.id);
    await bench.counterpart.advance(2 * 60_000);
    expect((await stripe.customers.create(given, { idempotencyKey: 'once' })).id).not.toBe(first.id);
  });

  it('answers 409 while the first one runs', async () => {
    const goOn = bench.counterpart.api.pause('POST /v1/customers');
    const first = stripe.customers.create({ name: 'Slow' }, { idempotencyKey: 'slow' });
    await expect.poll(() => bench.counterpart.calls.at(-1)?.idempotencyKey).toBe('slow');
    const second = stripe.customers.create(
      { name: 'Slow' },
      { idempotencyKey: 'slow', maxNetworkRetries: 0 },
    );
    expect(await refusalOf(second)).toMatchObject({ statusCode: 409, code: 'idempotency_key_in_use' });
    goOn();
    const { id } = await first;
    const third = await stripe.customers.create({ name: 'Slow' }, { idempotencyKey: 'slow' });
    expect(third.id).toBe(id);
  });

  it('keeps a 500, and not what was refused before anything began', async () => {
    bench.counterpart.api.answer500(1, { which: 'POST /v1/customers' });
    const broken = () => stripe.customers.create({ name: 'Five' }, { idempotencyKey: 'five' });
    expect(await refusalOf(broken())).toMatchObject({ statusCode: 500, type: 'StripeAPIError' });
    expect(await refusalOf(broken())).toMatchObject({ statusCode: 500 });
    expect((await stripe.customers.create({ name: 'Five' }, { idempotencyKey: 'five-2' })).name).toBe('Five');

    const bad = stripe.checkout.sessions.create({ mode: 'payment' }, { idempotencyKey: 'bad' });
    expect(await refusalOf(bad)).toMatchObject({ statusCode: 400, code: 'parameter_missing' });
    const good = await bench.creditSession();
    expect(good.status).toBe('open');
  });
});

describe('faults of the API', () => {
  const named = async (name: string) =>
    (await stripe.customers.list({ limit: 100 })).data.filter((each) => each.name === name).length;

  it('loses an answer after its effect: the library asks again with the same key, once made', async () => {
    bench.counterpart.api.loseAnswerAfterEffect(1, 'POST /v1/customers');
    const before = bench.counterpart.callsOf('POST /v1/customers').length;
    await stripe.customers.create({ name: 'Lost' });
    expect(await named('Lost')).toBe(1);
    const calls = bench.counterpart.callsOf('POST /v1/customers').slice(before);
    expect(calls.map(({ status, replayed }) => [status, replayed])).toEqual([
      [undefined, false],
      [200, true],
    ]);
    bench.counterpart.api.loseAnswerAfterEffect(2, 'POST /v1/customers');
    expect(await refusalOf(stripe.customers.create({ name: 'Gone' }))).toMatchObject({
      type: 'StripeConnectionError',
    });
    expect(await named('Gone')).toBe(1);
  });

  it('breaks a connection before anything is done, fails after the effect, and is down', async () => {
    bench.counterpart.api.reset(2, 'POST /v1/customers');
    expect(await refusalOf(stripe.customers.create({ name: 'Reset' }))).toMatchObject({
      type: 'StripeConnectionError',
    });
    expect(await named('Reset')).toBe(0);
    bench.counterpart.api.answer500(1, { which: 'POST /v1/customers', effect: true });
    expect(await refusalOf(stripe.customers.create({ name: 'Half' }))).toMatchObject({ statusCode: 500 });
    expect(await named('Half')).toBe(1);
    bench.counterpart.api.down();
    expect(await refusalOf(stripe.customers.list())).toMatchObject({ type: 'StripeConnectionError' });
    bench.counterpart.api.up();
    expect((await stripe.customers.list()).object).toBe('list');
  });
});
