/** This file moves statements as their invoices at the provider move. */
import { addEvent } from '../../kit/events/index.ts';
import { returnUsed } from '../credits/index.ts';
import { recordProviderAct, type Change } from './billing-deps.ts';
import type { ProviderInvoice } from './provider.ts';
import { moveStatement, type Move, type StatementRow } from '../statements/index.ts';

/** Returns the state that the invoice stands for, or undefined for a draft, which says nothing. */
function stateOf({ state, isFailed }: ProviderInvoice): Move['to'] | undefined {
  if (state === 'draft') return undefined;
  if (state === 'paid') return 'paid';
  if (state === 'void') return 'voided';
  return isFailed ? 'failed' : 'invoiced';
}

/** Does nothing the second time. */
export async function followInvoice(
  change: Change,
  { id, teamId, dueCents, period }: StatementRow,
  invoice: ProviderInvoice,
): Promise<void> {
  const to = stateOf(invoice);
  if (to === undefined) return;
  const { db, now, eventId } = change;
  const moved = await moveStatement(db, { id, to, invoiceId: invoice.id, invoiceUrl: invoice.url });
  if (!moved) return;
  const details = { invoice: invoice.id, dueCents };
  // The lock of the team's credit goes before that of its ledger, as everywhere.
  if (to === 'voided') await returnUsed(db, { teamId, statementId: id, at: now, eventId });
  if (to === 'failed') await tellFailed(change, { id, teamId, period });
  await recordProviderAct(change, { chain: teamId, action: `statement.${to}`, target: id, details });
}

async function tellFailed(
  { db, now: at }: Change,
  { id, teamId, period }: Pick<StatementRow, 'id' | 'teamId' | 'period'>,
): Promise<void> {
  const month = period.slice(0, 7);
  const title = `The payment of ${month} failed`;
  const body = `The provider tries again; whoever pays gives another card at the address of svc billing portal. Statement ${id}.`;
  const payload = { title, body, statementId: id, period: month };
  await addEvent(db, { teamId, kind: 'billing.payment_failed', key: id, payload, at });
}
