/** This file has the words by which people are told of a statement. */
import { moneyOf } from '../amounts/index.ts';

export interface ClosedStatement {
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

export function wordsOf({
  teamId,
  team,
  period,
  currency,
  netCents,
  creditCents,
  dueCents,
}: ClosedStatement): {
  readonly title: string;
  readonly body: string;
} {
  const credit = creditCents === 0 ? '' : `, of it ${moneyOf(creditCents, currency)} from credit`;
  const due = dueCents === 0 ? 'Nothing is due' : `${moneyOf(dueCents, currency)} is due`;
  return {
    title: `The statement of ${team} for ${period} is there`,
    body: `It comes to ${moneyOf(netCents, currency)}${credit}. ${due}. svc teams billing ${teamId} shows its lines.`,
  };
}
