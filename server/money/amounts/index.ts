/**
 * Amounts of money are whole pico-units (10^-12 of the major unit) until something is settled, then whole
 * minor units. Nothing else is rounded.
 */
import { declareFeature } from '../../kit/feature.ts';
import { settings } from './amounts.settings.ts';

export type { PaymentSettings } from './amounts.settings.ts';

/**
 * Decimals of minor units at Stripe, where they are not two. Intl.NumberFormat has others for some twenty
 * currencies: it gives HUF, IDR and ISK none, of which Stripe takes hundredths. UGX stands in Stripe's list
 * of currencies without decimals, but its special cases take hundredths of it (500 for 5 UGX), as they do of
 * ISK. Source: docs.stripe.com/currencies.
 */
const DECIMALS: Readonly<Record<string, number>> = {
  ...Object.fromEntries(
    'bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf'.split(' ').map((code) => [code, 0]),
  ),
  ...Object.fromEntries('bhd jod kwd omr tnd'.split(' ').map((code) => [code, 3])),
};

const PLACES = 12;

export function decimalsOf(currency: string): number {
  return DECIMALS[currency] ?? 2;
}

/** Whole króna and shillings, in hundredths. */
const WHOLE_ONLY = ['isk', 'ugx'];

/**
 * Returns the minor units of which every amount is a multiple that the provider is asked for: items of an
 * invoice, payments, refunds. Stripe refuses a last digit that is not 0 where there are three decimals.
 */
export function payableStep(currency: string): number {
  if (WHOLE_ONLY.includes(currency)) return 100;
  return decimalsOf(currency) === 3 ? 10 : 1;
}

/** Returns how many pico-units a minor unit has. */
export function minorUnit(currency: string): bigint {
  return 10n ** BigInt(PLACES - decimalsOf(currency));
}

/** This returns the amount as decimal text with twelve places. */
export function decimalOf(pico: bigint): string {
  const digits = (pico < 0n ? -pico : pico).toString().padStart(PLACES + 1, '0');
  return `${pico < 0n ? '-' : ''}${digits.slice(0, -PLACES)}.${digits.slice(-PLACES)}`;
}

/** This returns the nearest multiple of a unit, in units; half of one is rounded away from zero. */
function nearest(pico: bigint, unit: bigint): number {
  const size = pico < 0n ? -pico : pico;
  const units = Number((size * 2n + unit) / (unit * 2n));
  return pico < 0n ? -units : units;
}

/** Whole minor units, for words about what nobody pays as such. What a statement has is `payableOf`. */
export function centsOf(pico: bigint, currency: string): number {
  return nearest(pico, minorUnit(currency));
}

/** Minor units of the nearest amount that can be paid: this is the one rounding of money that is settled. */
export function payableOf(pico: bigint, currency: string): number {
  const step = payableStep(currency);
  return nearest(pico, minorUnit(currency) * BigInt(step)) * step;
}

/** Returns the part of these minor units, none below 0, that can be paid: the rest is less than a step. */
export function payablePart(cents: number, currency: string): number {
  return cents - (cents % payableStep(currency));
}

/**
 * One meter at one price in one month: what is rounded, once, wherever an amount in minor units is made of
 * costs.
 */
export interface Rounded {
  /** Pico-units. */
  readonly list: bigint;
  readonly included: bigint;
}

/** Minor units of what is not included, as the statement of these lines has them. */
export function netCentsOf(lines: readonly Rounded[], currency: string): number {
  return lines.reduce((sum, { list, included }) => sum + payableOf(list - included, currency), 0);
}

export function picoOf(cents: number, currency: string): bigint {
  return BigInt(cents) * minorUnit(currency);
}

/** Returns minor units as people read them, such as `12.30 USD`. */
export function moneyOf(cents: number | bigint, currency: string): string {
  const places = decimalsOf(currency);
  const digits = String(cents)
    .replace('-', '')
    .padStart(places + 1, '0');
  const whole = digits.slice(0, digits.length - places);
  const amount = places === 0 ? whole : `${whole}.${digits.slice(-places)}`;
  return `${cents < 0 ? '-' : ''}${amount} ${currency.toUpperCase()}`;
}

export interface Share {
  /** Order among equal remainders: the first key has more. */
  readonly key: string;
  readonly weight: bigint;
}

/**
 * The whole in proportion to the weights, none of which is below 0: parts sum to it, and none is one or more
 * from its exact share. In the order of the shares.
 */
export function shared(whole: number, shares: readonly Share[]): number[] {
  const total = shares.reduce((sum, { weight }) => sum + weight, 0n);
  if (total === 0n) return shares.map(() => 0);
  const size = BigInt(whole < 0 ? -whole : whole);
  const parts = shares.map(({ weight }) => (size * weight) / total);
  let left = Number(size - parts.reduce((sum, part) => sum + part, 0n));
  const byRemainder = shares
    .map(({ key, weight }, n) => ({ n, key, remainder: (size * weight) % total }))
    .toSorted((a, b) =>
      a.remainder === b.remainder ? (a.key < b.key ? -1 : 1) : a.remainder > b.remainder ? -1 : 1,
    );
  for (const { n } of byRemainder) {
    if (left === 0) break;
    parts[n] = (parts[n] ?? 0n) + 1n;
    left -= 1;
  }
  return parts.map((part) => (whole < 0 ? -Number(part) : Number(part)));
}

/** The settings that decide about amounts. */
export interface Pricing {
  /** ISO 4217, in lower case. */
  readonly currency: string;
  /** There is a provider of payments; without one nothing is included, and nothing refused by plan. */
  readonly charges: boolean;
}

export const amountsFeature = declareFeature({
  name: 'amounts',
  settings,
  check: ({ stripeSecretKey, stripeWebhookSecrets, tax }, { problem }) => {
    if (stripeSecretKey !== undefined && stripeWebhookSecrets.length === 0)
      problem(
        'STRIPE_SECRET_KEY is set and STRIPE_WEBHOOK_SECRETS is not: payments are known by what the endpoint /billing/webhooks/stripe is told; set the secret that Stripe shows for it',
      );
    if (stripeSecretKey === undefined && stripeWebhookSecrets.length > 0)
      problem('STRIPE_WEBHOOK_SECRETS is set and STRIPE_SECRET_KEY is not: nothing is charged without it');
    if (stripeSecretKey === undefined && tax === 'automatic')
      problem(
        'BILLING_TAX is "automatic" and STRIPE_SECRET_KEY is not set: it is Stripe that computes taxes',
      );
  },
  start: (_system, _on, payments) => {
    const pricing: Pricing = { currency: payments.currency, charges: payments.stripeSecretKey !== undefined };
    return { payments, pricing, services: [] };
  },
});
