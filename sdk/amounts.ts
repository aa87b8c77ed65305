/**
 * Writes an amount of minor units, as the API has it, in major ones, exactly: `majorText(30, 2)` is `0.30`,
 * `majorText(291027, 3)` is `291.027`. `decimals` are those that the API states beside the currency; other
 * tables of decimals differ for some currencies.
 */
export function majorText(minor: number | bigint, decimals: number): string {
  const whole = BigInt(minor);
  const digits = (whole < 0n ? -whole : whole).toString().padStart(decimals + 1, '0');
  const place = digits.length - decimals;
  const text = decimals === 0 ? digits : `${digits.slice(0, place)}.${digits.slice(place)}`;
  return whole < 0n ? `-${text}` : text;
}
