/** Starts the counterpart, an endpoint and the library's client, for the counterpart's own tests. */
import Stripe from 'stripe';
import { startEndpoint } from './endpoint.ts';
import type { TestEndpoint } from './endpoint.ts';
import { startStripe } from './index.ts';
import type { StripeOptions, TestStripe } from './index.ts';

export const SECRET = 'whsec_test_secret';
export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;

export interface Bench {
  readonly endpoint: TestEndpoint;
  readonly counterpart: TestStripe;
  readonly stripe: Stripe;
  /** A customer, subscribed by a session that was paid. */
  subscribed(options?: Subscribing): Promise<Subscribed>;
  customer(): Promise<Stripe.Customer>;
  creditSession(options?: Partial<Stripe.Checkout.SessionCreateParams>): Promise<Stripe.Checkout.Session>;
  stop(): Promise<void>;
}

interface Subscribing {
  readonly unitAmount?: number;
  readonly data?: Stripe.Checkout.SessionCreateParams.SubscriptionData;
}

export interface Subscribed {
  readonly customer: Stripe.Customer;
  readonly session: Stripe.Checkout.Session;
  readonly subscription: Stripe.Subscription;
  /** Address that the person came back to. */
  readonly back: string;
}

export const clientOf = ({ host, port, key }: { host: string; port: number; key: string }): Stripe =>
  new Stripe(key, { host, port, protocol: 'http', timeout: 6000, maxNetworkRetries: 1, telemetry: false });

export async function startBench(options: StripeOptions = {}): Promise<Bench> {
  const endpoint = await startEndpoint(SECRET, options.clock);
  const counterpart = await startStripe({
    webhook: { url: endpoint.url, secrets: [SECRET] },
    ...options,
  });
  const stripe = clientOf(counterpart);
  const customer = () => stripe.customers.create({ email: 'a@example.com' });
  return {
    endpoint,
    counterpart,
    stripe,
    customer,
    subscribed: async ({ unitAmount = 2900, data = {} } = {}) => {
      const payer = await customer();
      const session = await stripe.checkout.sessions.create({
        mode: 'subscription',
        customer: payer.id,
        line_items: [{ price: counterpart.addPrice({ unitAmount }).id, quantity: 1 }],
        success_url: 'https://app.example.com/ok?session={CHECKOUT_SESSION_ID}',
        cancel_url: 'https://app.example.com/no',
        subscription_data: data,
      });
      const back = counterpart.pay(session.id);
      await counterpart.delivered();
      const paid = await stripe.checkout.sessions.retrieve(session.id, { expand: ['subscription'] });
      return { customer: payer, session: paid, subscription: whole(paid.subscription), back };
    },
    creditSession: (more = {}) =>
      stripe.checkout.sessions.create({
        mode: 'payment',
        line_items: [
          {
            price_data: { currency: 'usd', unit_amount: 5000, product_data: { name: 'Credit' } },
            quantity: 1,
          },
        ],
        client_reference_id: 'chk_1',
        metadata: { checkout: 'chk_1' },
        success_url: 'https://app.example.com/ok/{CHECKOUT_SESSION_ID}',
        cancel_url: 'https://app.example.com/no',
        ...more,
      }),
    stop: async () => {
      await counterpart.stop();
      await endpoint.stop();
    },
  };
}

/** What was asked to be expanded. */
export function whole<T extends object>(given: string | T | null | undefined): T {
  if (given === null || given === undefined || typeof given === 'string')
    throw new Error(`not expanded: ${String(given)}`);
  return given;
}

export async function refusalOf(promise: Promise<unknown>): Promise<Stripe.errors.StripeError> {
  const error = await promise.then(
    () => undefined,
    (given: unknown) => given,
  );
  if (error instanceof Stripe.errors.StripeError) return error;
  throw new Error(`no refusal: ${String(error)}`);
}
