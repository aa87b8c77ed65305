import Stripe from 'stripe';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startEndpoint } from './endpoint.ts';
import type { TestEndpoint } from './endpoint.ts';
import { signatureOf, startStripe } from './index.ts';
import type { TestStripe } from './index.ts';

const SECRET = 'whsec_test_secret';

let endpoint: TestEndpoint;
let counterpart: TestStripe;
let stripe: Stripe;

beforeAll(async () => {
  endpoint = await startEndpoint(SECRET);
  counterpart = await startStripe({ webhook: { url: endpoint.url, secrets: [SECRET] } });
  stripe = clientOf(counterpart);
});

afterAll(async () => {
  await counterpart.stop();
  await endpoint.stop();
});

const clientOf = ({ host, port, key }: { host: string; port: number; key: string }) =>
  new Stripe(key, { host, port, protocol: 'http', timeout: 6000, maxNetworkRetries: 1, telemetry: false });

const planPrice = (unitAmount = 2900) => counterpart.addPrice({ unitAmount });

async function subscribed(unitAmount = 2900) {
  const customer = await stripe.customers.create({ email: 'a@example.com' });
  const session = await stripe.checkout.sessions.create({
    mode: 'subscription',
    customer: customer.id,
    line_items: [{ price: planPrice(unitAmount).id, quantity: 1 }],
    success_url: 'https://app.example.com/ok?session={CHECKOUT_SESSION_ID}',
    cancel_url: 'https://app.example.com/no',
    subscription_data: { metadata: { account: 'usr_1' } },
  });
  const back = counterpart.pay(session.id);
  await counterpart.delivered();
  const paid = await stripe.checkout.sessions.retrieve(session.id, { expand: ['subscription'] });
  const { subscription } = paid;
  if (subscription === null || typeof subscription === 'string') throw new Error('not expanded');
  return { customer, session: paid, subscription, back };
}

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

describe('checkout', () => {
  it('sells a plan: the session, the subscription, its paid invoice, and their events', async () => {
    endpoint.events.length = 0;
    const { session, subscription, back, customer } = await subscribed();
    expect(back).toBe(`https://app.example.com/ok?session=${session.id}`);
    expect(session).toMatchObject({ status: 'complete', payment_status: 'paid', amount_total: 2900 });
    expect(subscription).toMatchObject({ status: 'active', metadata: { account: 'usr_1' } });
    expect(subscription.items.data[0]?.current_period_end).toBeGreaterThan(counterpart.now());
    expect(endpoint.types()).toEqual([
      'customer.created',
      'customer.subscription.created',
      'invoice.created',
      'invoice.finalized',
      'charge.succeeded',
      'payment_intent.succeeded',
      'invoice.paid',
      'invoice.payment_succeeded',
      'customer.subscription.updated',
      'checkout.session.completed',
    ]);
    expect(counterpart.countsOf(customer.id)).toEqual({
      liveSubscriptions: 1,
      charges: 1,
      chargedCents: 2900,
      refundedCents: 0,
      invoices: 1,
      drafts: 0,
    });
  });
});
