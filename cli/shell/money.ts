/** Reads and writes amounts as people do. */
import { majorText } from '@svc/sdk';
import { isRecord } from './paths.ts';

/** ISO 4217 in lower case, and how many digits its minor unit takes, as the API states both. */
export interface Currency {
  readonly currency: string;
  readonly decimals: number;
}

/**
 * Returns the currency that an object of the API states for its amounts, or undefined where it states none.
 */
export function currencyOf(value: unknown): Currency | undefined {
  if (!isRecord(value)) return undefined;
  const { currency, decimals } = value;
  return typeof currency === 'string' && typeof decimals === 'number' ? { currency, decimals } : undefined;
}

/** Tells whether a field counts minor units. */
export const isOfCents = (name: string): boolean => /(^c|C)ents$/.test(name);

/** `netCents` is `net`: the amount beside it carries the unit. */
export const withoutCents = (name: string): string => name.replace(/(?<=.)Cents$/, '');

/**
 * Writes a decimal text of the API, rounded to minor units: `12.40 USD`. What is less than one and not
 * nothing says so.
 */
export function amount(text: string, of: Currency): string {
  const unit = 10n ** BigInt(12 - of.decimals);
  const pico = BigInt(text.replace('.', ''));
  const half = pico < 0n ? -unit / 2n : unit / 2n;
  const minor = (pico + half) / unit;
  return minor === 0n && pico > 0n ? `< ${cents(1n, of)}` : cents(minor, of);
}

export function cents(count: number | bigint, { currency, decimals }: Currency): string {
  return `${majorText(count, decimals)} ${currency.toUpperCase()}`;
}

/**
 * Returns the minor units of an amount that a person wrote, `50` or `12.50`, or undefined for any other text.
 */
export function readAmount(text: string, decimals: number): number | undefined {
  const [, whole = '', fraction = ''] = /^(\d{1,9})(?:\.(\d+))?$/.exec(text) ?? [];
  if (whole === '' || fraction.length > decimals) return undefined;
  return Number(whole + fraction.padEnd(decimals, '0'));
}
