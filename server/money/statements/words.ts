/** How people are told of a statement. */
import { decimalsOf } from '../amounts/index.ts';

export interface Told {
  readonly teamId: string;
  /** Name of the team. */
  readonly team: string;
  /** `YYYY-MM`. */
  readonly period: string;
  readonly currency: string;
  readonly netCents: number;
  readonly creditCents: number;
  readonly dueCents: number;
}

/** Minor units in the words of a person: `12.30 USD`. */
export function amountOf(cents: number, currency: string): string {
  const decimals = decimalsOf(currency);
  const digits = String(Math.abs(cents)).padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  const amount = decimals === 0 ? whole : `${whole}.${digits.slice(-decimals)}`;
  return `${cents < 0 ? '-' : ''}${amount} ${currency.toUpperCase()}`;
}

export function wordsOf({ teamId, team, period, currency, netCents, creditCents, dueCents }: Told): {
  readonly title: string;
  readonly body: string;
} {
  const credit = creditCents === 0 ? '' : `, of it ${amountOf(creditCents, currency)} from credit`;
  const due = dueCents === 0 ? 'Nothing is due' : `${amountOf(dueCents, currency)} is due`;
  return {
    title: `The statement of ${team} for ${period} is there`,
    body: `It comes to ${amountOf(netCents, currency)}${credit}. ${due}. svc teams billing ${teamId} shows its lines.`,
  };
}
