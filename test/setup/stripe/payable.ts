/**
 * Amounts that Stripe takes: whole tens of a minor unit where there are three decimals, and whole krónur and
 * shillings, which it counts in hundredths all the same. Sources: docs.stripe.com/currencies
 * ("Three-decimal", "Special cases"), and for the refusal, which is documented for the króna alone,
 * support.stripe.com, "Deprecation of fractional ISK charges and refunds": it names charges, refunds, prices
 * and invoices.
 */
import { invalid } from './refusal.ts';

const STEPS: Readonly<Record<string, number>> = {
  bhd: 10,
  jod: 10,
  kwd: 10,
  omr: 10,
  tnd: 10,
  isk: 100,
  ugx: 100,
};

const stepOf = (currency: string): number => STEPS[currency] ?? 1;

export function mustBePayable(amount: number, currency: string, param: string): void {
  const step = stepOf(currency);
  if (amount % step === 0) return;
  throw invalid(
    `Invalid amount. Amounts of ${currency} must be evenly divisible by ${step}; got ${amount}.`,
    {
      param,
      code: 'invalid_charge_amount_no_decimal_compatible',
    },
  );
}

/** The nearest amount that is taken, for taxes and parts of periods, which Stripe computes by itself. */
export function toPayable(amount: number, currency: string): number {
  const step = stepOf(currency);
  return Math.round(amount / step) * step;
}
