/** Amounts as people read and write them. */

/** Decimals of minor units, as the API counts `…Cents`, where they are not two. */
const DECIMALS: Readonly<Record<string, number>> = {
  ...Object.fromEntries(
    'bif clp djf gnf jpy kmf krw mga pyg rwf ugx vnd vuv xaf xof xpf'.split(' ').map((code) => [code, 0]),
  ),
  ...Object.fromEntries('bhd jod kwd omr tnd'.split(' ').map((code) => [code, 3])),
};

function decimalsOf(currency: string): number {
  return DECIMALS[currency] ?? 2;
}

/** A decimal text of the API, rounded to minor units: `12.40 USD`. What is less than one and not nothing says so. */
export function amount(text: string, currency: string): string {
  const places = decimalsOf(currency);
  const unit = 10n ** BigInt(12 - places);
  const pico = BigInt(text.replace('.', ''));
  const minor = (pico + unit / 2n) / unit;
  const code = currency.toUpperCase();
  return minor === 0n && pico > 0n ? `< ${shown(1n, places)} ${code}` : `${shown(minor, places)} ${code}`;
}

export function cents(count: number, currency: string): string {
  return `${shown(BigInt(count), decimalsOf(currency))} ${currency.toUpperCase()}`;
}

function shown(minor: bigint, places: number): string {
  const digits = minor.toString().padStart(places + 1, '0');
  return places === 0 ? digits : `${digits.slice(0, -places)}.${digits.slice(-places)}`;
}

/** Minor units of an amount that a person wrote: `50`, `12.50`. Undefined: it is none. */
export function readAmount(text: string, currency: string): number | undefined {
  const [, whole = '', fraction = ''] = /^(\d{1,9})(?:\.(\d+))?$/.exec(text) ?? [];
  const places = decimalsOf(currency);
  if (whole === '' || fraction.length > places) return undefined;
  return Number(whole + fraction.padEnd(places, '0'));
}
