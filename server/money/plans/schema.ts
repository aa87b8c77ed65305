import { sql } from 'drizzle-orm';
import { bigint, check, index, pgTable, text } from 'drizzle-orm/pg-core';
import { BillingStanding, BillingStandingSchema } from '@svc/proto/gen/svc/account/v1/account_pb.ts';
import { id, instant } from '../../base/db/columns.ts';
import { enumColumn } from '../../kit/resource/team-table.ts';

const isStanding = sql.raw(`standing in ('self_hosted', 'free', 'active', 'past_due', 'pending')`);

/**
 * Each row is what the provider said last of an account. An account without one is free or, without a
 * provider, self-hosted.
 */
export const accountPlans = pgTable(
  'account_plans',
  {
    userId: id('user_id').primaryKey(),
    plan: text('plan').notNull(),
    standing: enumColumn('standing', BillingStanding, BillingStandingSchema).notNull(),
    subscriptionId: text('subscription_id'),
    cancelAt: instant('cancel_at'),
    /** First failure of a payment; the plan holds for seven days from then. */
    pastDueSince: instant('past_due_since'),
    changedAt: instant('changed_at').notNull(),
  },
  () => [check('account_plans_standing', isStanding)],
);

/** Append-only by a trigger: which plan counted from when. Included time of a month is computed from it. */
export const planChanges = pgTable(
  'plan_changes',
  {
    id: id('id').primaryKey(),
    userId: id('user_id').notNull(),
    plan: text('plan').notNull(),
    standing: enumColumn('standing', BillingStanding, BillingStandingSchema).notNull(),
    fromAt: instant('from_at').notNull(),
    /** Event of the provider that it comes from. */
    eventId: text('event_id'),
  },
  (t) => [
    index('plan_changes_of_account').on(t.userId, t.fromAt, t.id),
    check('plan_changes_standing', isStanding),
  ],
);

/** Append-only by a trigger: what accounts paid for their plans, as the provider invoiced it. */
export const planFees = pgTable(
  'plan_fees',
  {
    /** Id of the provider's invoice, and of what went back of it. */
    invoiceId: text('invoice_id').primaryKey(),
    userId: id('user_id').notNull(),
    plan: text('plan').notNull(),
    /** Without taxes; below 0 where a change of the plan gave something back. */
    cents: bigint('cents', { mode: 'number' }).notNull(),
    paidAt: instant('paid_at').notNull(),
  },
  (t) => [index('plan_fees_of_account').on(t.userId, t.paidAt)],
);
