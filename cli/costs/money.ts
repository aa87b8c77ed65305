/** Amounts as people read and write them. */

/** ISO 4217 in lower case, and how many digits its minor unit takes, as the API states both. */
interface Currency {
  readonly currency: string;
  readonly decimals: number;
}

/** A decimal text of the API, rounded to minor units: `12.40 USD`. What is less than one and not nothing says so. */
export function amount(text: string, { currency, decimals }: Currency): string {
  const unit = 10n ** BigInt(12 - decimals);
  const pico = BigInt(text.replace('.', ''));
  const minor = (pico + unit / 2n) / unit;
  const code = currency.toUpperCase();
  return minor === 0n && pico > 0n ? `< ${shown(1n, decimals)} ${code}` : `${shown(minor, decimals)} ${code}`;
}

export function cents(count: number, { currency, decimals }: Currency): string {
  return `${shown(BigInt(count), decimals)} ${currency.toUpperCase()}`;
}

function shown(minor: bigint, decimals: number): string {
  const digits = minor.toString().padStart(decimals + 1, '0');
  return decimals === 0 ? digits : `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}

/** Minor units of an amount that a person wrote: `50`, `12.50`. Undefined: it is none. */
export function readAmount(text: string, decimals: number): number | undefined {
  const [, whole = '', fraction = ''] = /^(\d{1,9})(?:\.(\d+))?$/.exec(text) ?? [];
  if (whole === '' || fraction.length > decimals) return undefined;
  return Number(whole + fraction.padEnd(decimals, '0'));
}
