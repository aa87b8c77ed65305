/** Accounts and their customers at the provider. */
import { findUserById } from '../../access/accounts/index.ts';
import type { SqlTag } from '../../platform/db/index.ts';
import type { BillingDeps } from './billing-deps.ts';

export async function customerOf(sql: SqlTag, userId: string): Promise<string | undefined> {
  const [row] = await sql<Array<{ id: string }>>`
    select customer_id as id from billing_customers where user_id = ${userId}`;
  return row?.id;
}

/** Undefined: it is none of ours. */
export async function accountOf(sql: SqlTag, customerId: string): Promise<string | undefined> {
  const [row] = await sql<Array<{ id: string }>>`
    select user_id as id from billing_customers where customer_id = ${customerId}`;
  return row?.id;
}

/** Made when it is first needed, and once: of two at the same moment both use the first one. */
export async function ensureCustomer(
  { db, clock, provider }: Pick<BillingDeps, 'db' | 'clock' | 'provider'>,
  userId: string,
): Promise<string> {
  const known = await customerOf(db.sql, userId);
  if (known !== undefined) return known;
  const { email = '' } = (await findUserById(db, userId)) ?? {};
  const made = await provider.customer({ id: userId, email });
  await db.sql`
    insert into billing_customers (user_id, customer_id, created_at) values (${userId}, ${made}, ${clock.now()}) on conflict (user_id) do nothing`;
  return (await customerOf(db.sql, userId)) ?? made;
}
