import { sql } from 'drizzle-orm';
import { bigint, check, index, integer, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { id, instant } from '../../base/db/columns.ts';

/** The provider's customer of an account. */
export const billingCustomers = pgTable('billing_customers', {
  userId: id('user_id').primaryKey(),
  customerId: text('customer_id').notNull().unique(),
  createdAt: instant('created_at').notNull(),
  /** Time of the last reading of everything of the customer. */
  reconciledAt: instant('reconciled_at'),
});

/** Customers that were deleted at the provider: what is told of them still is of their account. */
export const billingPastCustomers = pgTable('billing_past_customers', {
  customerId: text('customer_id').primaryKey(),
  userId: id('user_id').notNull(),
  replacedAt: instant('replaced_at').notNull(),
});

/** Purchases, made before the provider is asked: after a crash the same one goes on. */
export const billingCheckouts = pgTable(
  'billing_checkouts',
  {
    id: id('id').primaryKey(),
    userId: id('user_id').notNull(),
    kind: text('kind', { enum: ['plan', 'credit'] }).notNull(),
    plan: text('plan'),
    /** Team that the credit becomes; null for a plan. */
    teamId: id('team_id'),
    amountCents: bigint('amount_cents', { mode: 'number' }).notNull(),
    currency: text('currency').notNull(),
    successUrl: text('success_url').notNull(),
    cancelUrl: text('cancel_url').notNull(),
    state: text('state', { enum: ['creating', 'open', 'completed', 'expired', 'failed'] }).notNull(),
    sessionId: text('session_id').unique(),
    url: text('url'),
    expiresAt: instant('expires_at'),
    createdAt: instant('created_at').notNull(),
    endedAt: instant('ended_at'),
  },
  (t) => [
    check('billing_checkouts_kind', sql`${t.kind} in ('plan', 'credit')`),
    check(
      'billing_checkouts_state',
      sql`${t.state} in ('creating', 'open', 'completed', 'expired', 'failed')`,
    ),
    check(
      'billing_checkouts_of',
      sql`(${t.kind} = 'plan') = (${t.plan} is not null) and (${t.kind} = 'credit') = (${t.teamId} is not null)`,
    ),
    uniqueIndex('billing_checkouts_open')
      .on(t.userId, t.kind, sql`coalesce(${t.teamId}, '')`)
      .where(sql`${t.state} in ('creating', 'open')`),
    index('billing_checkouts_due')
      .on(t.createdAt)
      .where(sql`${t.state} in ('creating', 'open')`),
  ],
);

/**
 * Each row is an event that the provider told of. It says only that something of its object changed, and the
 * object is read again.
 */
export const billingEvents = pgTable(
  'billing_events',
  {
    id: text('id').primaryKey(),
    type: text('type').notNull(),
    /** The customer, or the object where it has none: events of one lane are handled one after the other. */
    lane: text('lane').notNull(),
    objectId: text('object_id').notNull(),
    receivedAt: instant('received_at').notNull(),
    attempts: integer('attempts').notNull().default(0),
    dueAt: instant('due_at').notNull(),
    lastError: text('last_error'),
    doneAt: instant('done_at'),
  },
  (t) => [
    index('billing_events_due')
      .on(t.dueAt)
      .where(sql`${t.doneAt} is null`),
    index('billing_events_lane')
      .on(t.lane)
      .where(sql`${t.doneAt} is null`),
  ],
);
