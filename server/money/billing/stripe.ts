/**
 * This file makes Stripe a provider. The library is loaded with the first call. Each call that creates has a
 * key of ours, so that it may be made again when its answer was lost; the provider forgets keys after a day,
 * so that whoever comes later looks for what is there first.
 */
import type Stripe from 'stripe';
import type { PaymentSettings } from '../amounts/index.ts';
import { ProviderError, type Provider } from './provider.ts';
import { createAsk, orMissing, type Ask } from './stripe-ask.ts';
import { idOf, isGiven, sessionOf, subscriptionOf } from './stripe-values.ts';
import { verifiedEvent } from './stripe-event.ts';
import { invoiceCalls } from './stripe-invoices.ts';

const TIMEOUT_MS = 6_000;
const PAGE = 100;

/** Returns undefined when payments are not configured. */
export function openProvider(payments: PaymentSettings): Provider | undefined {
  const { stripeSecretKey: key, stripeApiBase, stripeWebhookSecrets, tax } = payments;
  if (key === undefined) return undefined;
  let opening: Promise<Stripe> | undefined;
  const open = async (): Promise<Stripe> => await (opening ??= load(key, stripeApiBase));
  const ask = createAsk(open);
  return {
    isLive: /^[a-z]+_live_/.test(key),
    ...catalogueCalls(ask),
    ...sessionCalls(ask, tax === 'automatic'),
    ...subscriptionCalls(ask),
    ...invoiceCalls(ask, tax === 'automatic'),
    verified: async (body, proof) =>
      verifiedEvent((await open()).webhooks, body, { ...proof, secrets: stripeWebhookSecrets }),
  };
}

async function load(key: string, base: string | undefined): Promise<Stripe> {
  const { default: Client } = await import('stripe');
  return new Client(key, {
    ...(base !== undefined && hostOf(new URL(base))),
    timeout: TIMEOUT_MS,
    maxNetworkRetries: 1,
    telemetry: false,
  });
}

function hostOf({ hostname, port, protocol }: URL) {
  const isPlain = protocol === 'http:';
  return {
    host: hostname,
    port: port === '' ? (isPlain ? 80 : 443) : Number(port),
    protocol: isPlain ? ('http' as const) : ('https' as const),
  };
}

function catalogueCalls(ask: Ask) {
  return {
    prices: async (lookupKeys) =>
      await ask('list prices', async (stripe) => {
        const { data } = await stripe.prices.list({
          lookup_keys: [...lookupKeys],
          active: true,
          limit: PAGE,
        });
        return data.flatMap(({ id, lookup_key: lookupKey, unit_amount: amountCents, ...price }) =>
          lookupKey === null || amountCents === null || !price.active
            ? []
            : [{ id, lookupKey, amountCents, currency: price.currency }],
        );
      }),
    customer: async ({ id, email, after }) =>
      await ask('make a customer', async (stripe) => {
        const { data } = await stripe.customers.list({ email, limit: PAGE });
        const known = data.find(({ metadata }) => metadata['account'] === id);
        if (known !== undefined) return known.id;
        const made = await stripe.customers.create(
          { email, metadata: { account: id } },
          // The answer of before would name the one that is gone.
          { idempotencyKey: after === undefined ? `${id}:customer` : `${id}:customer:${after}` },
        );
        return made.id;
      }),
    hasCustomer: async (id) =>
      (await orMissing(
        ask('read a customer', async ({ customers }) => (await customers.retrieve(id)).deleted !== true),
      )) ?? false,
  } satisfies Partial<Provider>;
}

const EXPANDED = ['payment_intent'];

function sessionCalls(ask: Ask, isTaxed: boolean) {
  const session: Provider['session'] = async (id) =>
    await orMissing(
      ask('read a checkout session', async ({ checkout }) =>
        sessionOf(await checkout.sessions.retrieve(id, { expand: EXPANDED })),
      ),
    );
  return {
    session,
    createSession: async (order) =>
      await ask('make a checkout session', async ({ checkout }) =>
        sessionOf(
          await checkout.sessions.create(sessionParams(order, isTaxed), { idempotencyKey: order.checkoutId }),
        ),
      ),
    sessionsOf: async (customer) =>
      await ask('list checkout sessions', async ({ checkout }) =>
        (await checkout.sessions.list({ customer, limit: PAGE })).data.map(sessionOf),
      ),
    sessionOfPayment: async (payment_intent) =>
      await ask('find a checkout session', async ({ checkout }) =>
        (await checkout.sessions.list({ payment_intent, limit: 1 })).data.map(sessionOf).at(0),
      ),
    expireSession: async (id) => {
      try {
        return await ask('end a checkout session', async ({ checkout }) =>
          sessionOf(await checkout.sessions.expire(id)),
        );
      } catch (error) {
        // Only an open one can be ended.
        if (error instanceof ProviderError && error.failure !== 'away') return await session(id);
        throw error;
      }
    },
    portal: async ({ customerId: customer, returnUrl: return_url, change }) =>
      await ask('make a portal session', async ({ billingPortal }) => {
        const flow = change && { flow_data: flowOf(change) };
        return (await billingPortal.sessions.create({ customer, return_url, ...flow })).url;
      }),
  } satisfies Partial<Provider>;
}

function sessionParams(
  { checkoutId, customerId, successUrl, cancelUrl, buys }: Parameters<Provider['createSession']>[0],
  isTaxed: boolean,
): Stripe.Checkout.SessionCreateParams {
  const common = {
    customer: customerId,
    client_reference_id: checkoutId,
    metadata: { checkout: checkoutId },
    success_url: successUrl,
    cancel_url: cancelUrl,
    ...(isTaxed && { automatic_tax: { enabled: true }, customer_update: { address: 'auto' as const } }),
  };
  if (buys.kind === 'plan')
    return {
      ...common,
      mode: 'subscription',
      line_items: [{ price: buys.priceId, quantity: 1 }],
      // Periods begin on the first day of a month, as those of included time do.
      subscription_data: {
        metadata: { account: buys.accountId, checkout: checkoutId },
        billing_cycle_anchor_config: { day_of_month: 1 },
      },
    };
  const { currency, amountCents, name } = buys;
  return {
    ...common,
    mode: 'payment',
    payment_intent_data: { metadata: { checkout: checkoutId } },
    line_items: [
      {
        quantity: 1,
        price_data: {
          currency,
          unit_amount: amountCents,
          product_data: { name },
          ...(isTaxed && { tax_behavior: 'exclusive' as const }),
        },
      },
    ],
  };
}

function flowOf({
  subscriptionId: subscription,
  itemId: id,
  priceId: price,
  doneUrl: return_url,
}: NonNullable<
  Parameters<Provider['portal']>[0]['change']
>): Stripe.BillingPortal.SessionCreateParams.FlowData {
  return {
    type: 'subscription_update_confirm',
    subscription_update_confirm: { subscription, items: [{ id, price, quantity: 1 }] },
    after_completion: { type: 'redirect', redirect: { return_url } },
  };
}

function subscriptionCalls(ask: Ask) {
  const refundPayment: Provider['refundPayment'] = async (payment_intent) =>
    await ask('refund a payment', async ({ refunds }) => {
      const { data } = await refunds.list({ payment_intent, limit: PAGE });
      if (data.some(isGiven)) return;
      await refunds.create({ payment_intent }, { idempotencyKey: `${payment_intent}:refund` });
    });
  return {
    refundPayment,
    subscriptionsOf: async (customer) => {
      // A customer that was deleted at the provider has none.
      const all = await orMissing(
        ask('list subscriptions', async ({ subscriptions }) =>
          subscriptions
            .list({ customer, status: 'all', limit: PAGE, expand: ['data.latest_invoice'] })
            .autoPagingToArray({ limit: 1_000 }),
        ),
      );
      return (all ?? [])
        .map(subscriptionOf)
        .toSorted((a, b) => a.createdAt.getTime() - b.createdAt.getTime() || (a.id < b.id ? -1 : 1));
    },
    cancelSubscription: async (id) => {
      const isOver = await orMissing(
        ask('read a subscription', async ({ subscriptions }) => {
          const { status } = await subscriptions.retrieve(id);
          return status === 'canceled' || status === 'incomplete_expired';
        }),
      );
      if (isOver ?? true) return;
      await ask('cancel a subscription', async ({ subscriptions }) => {
        await subscriptions.cancel(id);
      });
    },
    refundSubscription: async (subscription) => {
      const paid = await ask('list invoices of a subscription', async ({ invoices }) =>
        invoices
          .list({ subscription, status: 'paid', limit: PAGE, expand: ['data.payments'] })
          .autoPagingToArray({ limit: 1_000 }),
      );
      const payments = paid.flatMap(({ payments }) => payments?.data ?? []);
      for (const { payment, status } of payments) {
        const id = idOf(payment.payment_intent);
        if (id !== undefined && status === 'paid') await refundPayment(id);
      }
    },
  } satisfies Partial<Provider>;
}
