/** This file keeps which account is which customer at the provider. */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import { findUserById } from '../../access/accounts/index.ts';
import type { Database, SqlTag } from '../../base/db/index.ts';
import { appendAudit, PLATFORM_CHAIN } from '../../kit/ledger/index.ts';
import { BILLING_ACTOR } from '../credits/index.ts';
import type { BillingDeps } from './billing-deps.ts';
import { addEvents } from './events.ts';

export async function customerOf(sql: SqlTag, userId: string): Promise<string | undefined> {
  const [row] = await sql<Array<{ id: string }>>`
    select customer_id as id from billing_customers where user_id = ${userId}`;
  return row?.id;
}

/** Also of a customer that was deleted since. Undefined: it is none of ours. */
export async function accountOf(sql: SqlTag, customerId: string): Promise<string | undefined> {
  const [row] = await sql<Array<{ id: string }>>`
    select user_id as id from billing_customers where customer_id = ${customerId}
    union all select user_id from billing_past_customers where customer_id = ${customerId} limit 1`;
  return row?.id;
}

type Deps = Pick<BillingDeps, 'db' | 'clock' | 'provider'>;

/**
 * The customer of an account, as long as the provider has it. Undefined: there is none, or it was deleted
 * there.
 */
export async function livingCustomer(deps: Deps, userId: string): Promise<string | undefined> {
  const { known, isLiving } = await lookUp(deps, userId);
  return isLiving ? known : undefined;
}

/** One read decides: a customer that is made at this moment is none that was deleted. */
async function lookUp({ db, provider }: Deps, userId: string) {
  const known = await customerOf(db.sql, userId);
  return { known, isLiving: known !== undefined && (await provider.hasCustomer(known)) };
}

/**
 * Made when it is first needed, and when the one before was deleted at the provider; once: of two at the same
 * moment both use the first one.
 */
export async function ensureCustomer(deps: Deps, userId: string): Promise<string> {
  const { known: gone, isLiving } = await lookUp(deps, userId);
  if (gone !== undefined && isLiving) return gone;
  const { db, clock, provider } = deps;
  const { email = '' } = (await findUserById(db, userId)) ?? {};
  const made = await provider.customer({ id: userId, email, after: gone });
  await db.transact(async (tx) => {
    const { sql } = tx;
    if (gone !== undefined) await replaced(tx, { userId, gone, made, now: clock.now() });
    // Several callers make the same customer at once: each of the table's keys may be taken.
    await sql`
      insert into billing_customers (user_id, customer_id, created_at) values (${userId}, ${made}, ${clock.now()}) on conflict do nothing`;
  });
  return (await customerOf(db.sql, userId)) ?? made;
}

/** The account's purchases ended with its old customer, so that everything of the new one is read. */
async function replaced(
  tx: Database,
  {
    userId,
    gone,
    made,
    now,
  }: { readonly userId: string; readonly gone: string; readonly made: string; readonly now: Date },
): Promise<void> {
  const { sql } = tx;
  const moved = await sql`
    update billing_customers set customer_id = ${made}, created_at = ${now}, reconciled_at = null where user_id = ${userId} and customer_id = ${gone} returning 1`;
  if (moved.length === 0) return;
  await sql`
    insert into billing_past_customers (customer_id, user_id, replaced_at) values (${gone}, ${userId}, ${now}) on conflict do nothing`;
  await addEvents(sql, [{ id: `replaced:${gone}`, type: 'svc.account', lane: made, objectId: made }]);
  const act = { chain: PLATFORM_CHAIN, action: 'billing.customer_replaced', target: userId };
  await appendAudit(tx, { ...act, details: { gone, made }, actor: BILLING_ACTOR, requestId: '' }, now);
}
