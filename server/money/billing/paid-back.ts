/** What was paid for an invoice and went back since: for a statement a transfer of its team, for a plan a fee below 0. */
import { statementPaidBack } from '../credits/index.ts';
import type { PaidBack } from '../credits/index.ts';
import { noEffects } from './billing-deps.ts';
import type { BillingDeps, Effects } from './billing-deps.ts';
import { settleInvoice, statementOfInvoice } from './invoicing.ts';
import { feeGivenBack } from './plan-fees.ts';

export interface Taxed {
  /** Without taxes. */
  readonly amountCents: number;
  readonly totalCents: number;
}

/** Part of `cents` that is no tax, to the nearest minor unit. */
export function partOf(cents: number, { amountCents, totalCents }: Taxed): number {
  if (totalCents <= 0) return 0;
  const [part, whole] = [BigInt(cents) * BigInt(amountCents), BigInt(totalCents)];
  return Number((part * 2n + whole) / (whole * 2n));
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
  const totalCents = partOf(givenCents, { amountCents: invoice.totalCents, totalCents: invoice.paidCents });
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
