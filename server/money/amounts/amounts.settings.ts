/**
 * These settings are about payments: the provider, the currency of the installation, and where people come
 * back to.
 */
import {
  address,
  choice,
  expected,
  optional,
  parts,
  secret,
  text,
  webAddresses,
  Wrong,
  type SettingsOf,
} from '@svc/proto/process/settings.ts';

export const settings = {
  stripeSecretKey: optional('STRIPE_SECRET_KEY', {
    about: 'Secret key of the Stripe account that payments go to.',
    type: 'secret',
    absent: 'nothing is charged, and the only plan is `self_hosted`',
    parse: secret(8),
  }),
  stripeWebhookSecrets: text('STRIPE_WEBHOOK_SECRETS', {
    about:
      'Secrets of the endpoint `/billing/webhooks/stripe` at Stripe: one, or two while one is being replaced. Needed with `STRIPE_SECRET_KEY`.',
    type: 'secrets, separated by commas',
    fallback: '',
    parse: secrets,
  }),
  stripeApiBase: optional('STRIPE_API_BASE', {
    about: 'Address of the API in place of that of Stripe, for tests.',
    type: 'http(s) address',
    absent: 'Stripe',
    parse: address('http:', 'https:'),
  }),
  currency: text('BILLING_CURRENCY', {
    about:
      'Currency of prices, budgets and credit: an ISO 4217 code in lower case. It stays what it was when money was first counted: a server with another one does not start.',
    type: 'code',
    fallback: 'usd',
    parse: (given) =>
      /^[a-z]{3}$/.test(given) ? given : expected(given, 'an ISO 4217 code in lower case, such as usd'),
  }),
  returnOrigins: optional('BILLING_RETURN_ORIGINS', {
    about: 'Origins beside `PUBLIC_URLS` that people may come back to from a payment.',
    type: 'http(s) addresses, separated by commas',
    absent: 'those of `PUBLIC_URLS` alone',
    parse: webAddresses,
  }),
  tax: choice('BILLING_TAX', {
    about: '`automatic` lets Stripe compute taxes.',
    values: ['off', 'automatic'],
    fallback: 'off',
  }),
};

export type PaymentSettings = SettingsOf<typeof settings>;

function secrets(given: string): readonly string[] | Wrong {
  const all = parts(given);
  return all.length > 2 || all.some((each) => each.length < 8)
    ? new Wrong('must be one or two secrets of at least 8 characters, separated by commas')
    : all;
}
