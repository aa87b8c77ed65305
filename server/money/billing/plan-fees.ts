/**
 * What accounts paid for their plans, once an invoice, and what of it went back. Costs show it beside what
 * their teams used.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { SqlTag } from '../../base/db/index.ts';
import { accountPlanOf } from '../plans/index.ts';
import { subscribed } from './account-plan.ts';
import { noEffects, type BillingDeps, type Effects } from './billing-deps.ts';
import { accountOf } from './customers.ts';
import type { ProviderInvoice } from './provider.ts';

export interface PlanFee {
  /** Id of the provider's invoice, or of what went back of it. */
  readonly id: string;
  readonly plan: string;
  /** Without taxes; below 0 for what went back. */
  readonly cents: number;
  readonly paidAt: Date;
}

/** Fees of those of these invoices of subscriptions that are paid. */
export async function feesOf(
  deps: BillingDeps,
  customerId: string,
  invoices: readonly ProviderInvoice[],
): Promise<Effects> {
  const { db, provider, currency } = deps;
  const paid = invoices.filter(({ state, totalCents }) => state === 'paid' && totalCents !== 0);
  const userId = await accountOf(db.sql, customerId);
  if (userId === undefined || paid.length === 0) return noEffects;
  const plans = new Map(
    subscribed(await provider.subscriptionsOf(customerId), currency).map(({ id, plan }) => [id, plan]),
  );
  return async (change) => {
    const { plan: current } = await accountPlanOf(change.db, userId);
    for (const { id, subscriptionId = '', totalCents: cents, paidAt = change.now } of paid)
      await insertFee(change.db.sql, userId, {
        id,
        plan: plans.get(subscriptionId) ?? current,
        cents,
        paidAt,
      });
  };
}

interface GivenBack {
  readonly invoice: ProviderInvoice;
  /** Charge or dispute. */
  readonly of: string;
  /** Without taxes, all of it so far. */
  readonly totalCents: number;
}

export async function feeGivenBack(
  deps: BillingDeps,
  customerId: string,
  { invoice, of, totalCents }: GivenBack,
): Promise<Effects> {
  const userId = await accountOf(deps.db.sql, invoice.customerId ?? customerId);
  const paid = await feesOf(deps, invoice.customerId ?? customerId, [invoice]);
  if (userId === undefined) return noEffects;
  return async (change) => {
    await paid(change);
    const { sql } = change.db;
    const id = `${invoice.id} ${of} ${totalCents}`;
    const [known] = await sql<Array<{ plan: string; cents: number }>>`
      select max(plan) as plan, coalesce(-sum(cents) filter (where invoice_id <> ${invoice.id}), 0)::bigint as cents from plan_fees
      where user_id = ${userId} and (invoice_id = ${invoice.id} or starts_with(invoice_id, ${`${invoice.id} ${of} `})) having count(*) > 0`;
    const cents = totalCents - (known?.cents ?? 0);
    if (known === undefined || cents <= 0) return;
    await insertFee(sql, userId, { id, plan: known.plan, cents: -cents, paidAt: change.now });
  };
}

async function insertFee(sql: SqlTag, userId: string, { id, plan, cents, paidAt }: PlanFee): Promise<void> {
  await sql`
    insert into plan_fees (invoice_id, user_id, plan, cents, paid_at) values (${id}, ${userId}, ${plan}, ${cents}, ${paidAt})
    on conflict (invoice_id) do nothing`;
}
