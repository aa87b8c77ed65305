/** Starts the counterpart, an endpoint and the library's client, for the counterpart's own tests. */
import Stripe from 'stripe';
import { onTestFinished } from 'vitest';
import { startEndpoint } from './endpoint.ts';
import { startStripe, type StripeOptions } from './index.ts';

export const SECRET = 'whsec_test_secret';
export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;

export type Bench = Awaited<ReturnType<typeof startBench>>;

interface Subscribing {
  readonly unitAmount?: number;
  readonly data?: Stripe.Checkout.SessionCreateParams.SubscriptionData;
}

export const clientOf = ({ host, port, key }: { host: string; port: number; key: string }): Stripe =>
  new Stripe(key, { host, port, protocol: 'http', timeout: 6000, maxNetworkRetries: 1, telemetry: false });

export async function startBench(options: StripeOptions = {}) {
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
    /** Returns the types of what was told by now. */
    told: async (): Promise<string[]> => {
      await counterpart.delivered();
      return endpoint.types();
    },
    /** Makes a customer, subscribed by a session that was paid, and `back`, where the person came back to. */
    subscribed: async ({ unitAmount = 2900, data = {} }: Subscribing = {}) => {
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
    creditSession: (more: Partial<Stripe.Checkout.SessionCreateParams> = {}) =>
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
    stop: async (): Promise<void> => {
      await counterpart.stop();
      await endpoint.stop();
    },
  };
}

/** Starts a bench that ends with its test. */
export async function benchOfTest(options: StripeOptions): Promise<Bench> {
  const bench = await startBench(options);
  onTestFinished(bench.stop);
  return bench;
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
