/**
 * Settles a purchase, as its session stands at the provider. Our own row says whose it is and what it
 * was to cost; what a session says of that is compared, and never believed.
 */
import { moneyOf } from '../amounts/index.ts';
import { purchase } from '../credits/index.ts';
import { noEffects, recordProviderAct, type BillingDeps, type Change, type Effects } from './billing-deps.ts';
import { checkoutOf, endCheckout, leaveCheckout, type Checkout, type End } from './checkouts-store.ts';
import { accountOf } from './customers.ts';
import { addEvents } from './events.ts';
import type { ProviderSession } from './provider.ts';

export async function settleSession(
  deps: BillingDeps,
  session: ProviderSession | undefined,
): Promise<Effects> {
  if (session === undefined) return noEffects;
  const row = await checkoutOf(deps.db, session);
  const { customerId } = session;
  const payerId = customerId === undefined ? undefined : await accountOf(deps.db.sql, customerId);
  const stranger = strangeness(session, row, payerId);
  if (row === undefined || stranger !== undefined) {
    if (stranger !== undefined)
      deps.onError(new Error(`checkout session ${session.id} has no effect: ${stranger}`));
    return noEffects;
  }
  return async (change) => await settle({ ...change, row, session });
}

/** Returns undefined when nothing is wrong with the session. */
function strangeness(session: ProviderSession, row: Checkout | undefined, payerId: string | undefined) {
  const { checkoutId, mode, amountCents, currency } = session;
  // Others may use the same account at the provider; only what names a purchase of ours is strange.
  if (row === undefined)
    return checkoutId?.startsWith('chk_') ? `no purchase ${checkoutId} waits for it` : undefined;
  if (payerId !== row.userId) return `its customer is not that of ${row.id}`;
  if (checkoutId !== row.id) return `it was made for another purchase than ${row.id}`;
  if (mode !== (row.kind === 'plan' ? 'subscription' : 'payment')) return `its mode is not that of ${row.id}`;
  if (currency !== row.currency) return `its currency is ${currency}, that of ${row.id} ${row.currency}`;
  if (row.kind === 'credit' && amountCents !== row.amountCents)
    return `its amount is ${moneyOf(amountCents, currency)}, that of ${row.id} ${moneyOf(row.amountCents, currency)}`;
  return undefined;
}

interface Settled extends Change {
  readonly row: Checkout;
  readonly session: ProviderSession;
}

async function settle(settled: Settled): Promise<void> {
  const { db, row, session } = settled;
  if (session.state === 'open') return;
  if (session.state === 'expired') await end(settled, 'expired');
  else if (row.kind === 'plan') await end(settled, 'completed');
  else if (session.isPaid) await credit(settled);
  else if (session.isFailed) await end(settled, 'failed');
  else await leaveCheckout(db, row.id, session); // It will be paid later, or not.
}

async function credit(settled: Settled): Promise<void> {
  const { db, now: at, eventId, row, session } = settled;
  const { teamId, amountCents: cents } = row;
  if (teamId === null) return;
  // The lock of the team's credit goes before that of its ledger, as everywhere.
  const bought = await purchase(db, { teamId, cents, source: session.id, at, eventId });
  await end(settled, 'completed');
  if (!bought.teamGone || bought.outcome === 'repeated' || session.paymentId === undefined) return;
  // Nobody can use it any more.
  const back = { id: `refund:${session.id}`, type: 'svc.refund', objectId: session.paymentId };
  await addEvents(db.sql, [{ ...back, lane: session.customerId ?? session.id }]);
}

async function end({ row, session, ...told }: Settled, state: End['state']): Promise<void> {
  const isNew = await endCheckout(told.db, row.id, { state, at: told.now, sessionId: session.id });
  if (!isNew || state !== 'completed') return;
  const { kind, plan, amountCents, currency } = row;
  const act = { action: 'billing.checkout_completed', target: row.id };
  const details = { kind, plan, amountCents, currency };
  await recordProviderAct(told, { ...act, ...(row.teamId !== null && { chain: row.teamId }), details });
}
