/**
 * What was paid for an invoice and went back since: for a statement a transfer of its team, for a plan a fee
 * below 0.
 */
import { payableStep } from '../amounts/index.ts';
import { statementPaidBack, type PaidBack } from '../credits/index.ts';
import { noEffects, type BillingDeps, type Effects } from './billing-deps.ts';
import { settleInvoice, statementOfInvoice } from './invoicing.ts';
import { feeGivenBack } from './plan-fees.ts';

export interface Taxed {
  /** Without taxes. */
  readonly amountCents: number;
  readonly totalCents: number;
  readonly currency: string;
}

/**
 * Part of `cents` that is no tax, to the nearest amount that can be paid: what is left of a purchase pays
 * statements, and what is missing of it stands on one. The part of all is all, also where that was bought
 * before this held.
 */
export function partOf(cents: number, { amountCents, totalCents, currency }: Taxed): number {
  if (totalCents <= 0) return 0;
  if (cents === totalCents) return amountCents;
  const step = BigInt(payableStep(currency));
  const [part, whole] = [BigInt(cents) * BigInt(amountCents), BigInt(totalCents) * step];
  return Number(((part * 2n + whole) / (whole * 2n)) * step);
}

export type Back = Pick<PaidBack, 'kind' | 'of'> & {
  /** With taxes, all of it so far. */
  readonly givenCents: number;
};

export async function invoicePaidBack(
  deps: BillingDeps,
  { paymentId, lane }: { readonly paymentId: string; readonly lane: string },
  { givenCents, ...back }: Back,
): Promise<Effects> {
  const invoice = await deps.provider.invoiceOfPayment(paymentId);
  if (invoice === undefined) return noEffects;
  const totalCents = partOf(givenCents, {
    amountCents: invoice.totalCents,
    totalCents: invoice.paidCents,
    currency: invoice.currency,
  });
  if (invoice.subscriptionId !== undefined)
    return await feeGivenBack(deps, lane, { invoice, of: back.of, totalCents });
  const statement = await statementOfInvoice(deps, invoice);
  if (statement === undefined) return noEffects;
  const { id: statementId, teamId } = statement;
  const settled = await settleInvoice(deps, invoice);
  return async (change) => {
    await settled(change);
    const { db, now: at, eventId } = change;
    await statementPaidBack(db, { teamId, statementId, ...back, totalCents, at, eventId });
  };
}
