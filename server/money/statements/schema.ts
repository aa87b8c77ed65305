/** What closed months came to. No table refers to a team: statements outlive it. */
import { sql } from 'drizzle-orm';
import {
  bigint,
  check,
  date,
  index,
  integer,
  numeric,
  pgTable,
  primaryKey,
  text,
  unique,
} from 'drizzle-orm/pg-core';
import { StatementState, StatementStateSchema } from '@svc/proto/gen/svc/teams/v1/teams_pb.ts';
import { id, instant } from '../../base/db/columns.ts';
import { enumColumn } from '../../kit/resource/team-table.ts';

const cents = (name: string) => bigint(name, { mode: 'number' }).notNull();

/** A trigger lets nobody delete one, or change more of it than its state and its invoice. */
export const statements = pgTable(
  'statements',
  {
    id: id('id').primaryKey(),
    teamId: id('team_id').notNull(),
    /** It is null in an installation that nobody pays for. */
    payerId: id('payer_id'),
    period: date('period').notNull(),
    currency: text('currency').notNull(),
    plan: text('plan').notNull(),
    listCents: cents('list_cents'),
    includedCents: cents('included_cents'),
    netCents: cents('net_cents'),
    creditCents: cents('credit_cents'),
    dueCents: cents('due_cents'),
    state: enumColumn('state', StatementState, StatementStateSchema).notNull(),
    invoiceId: text('invoice_id').unique(),
    invoiceUrl: text('invoice_url'),
    closedAt: instant('closed_at').notNull(),
  },
  (t) => [
    unique('statements_once').on(t.teamId, t.period),
    index('statements_of_payer').on(t.payerId, t.period),
    index('statements_to_invoice')
      .on(t.closedAt)
      .where(sql`${t.state} = 'closed' and ${t.dueCents} > 0`),
    check(
      'statements_state',
      sql`${t.state} in ('closed', 'settled', 'invoiced', 'paid', 'failed', 'voided')`,
    ),
    check('statements_net', sql`${t.netCents} = ${t.listCents} - ${t.includedCents}`),
    check(
      'statements_due',
      sql`${t.dueCents} = ${t.netCents} - ${t.creditCents} and ${t.dueCents} >= 0 and ${t.creditCents} >= 0`,
    ),
  ],
);

/**
 * Append-only by a trigger. Months of teams that have had their statement, for ever: whatever becomes of
 * that, nobody settles and invoices them again.
 */
export const settledMonths = pgTable(
  'settled_months',
  {
    teamId: id('team_id').notNull(),
    period: date('period').notNull(),
    statementId: id('statement_id').notNull(),
  },
  (t) => [primaryKey({ columns: [t.teamId, t.period] })],
);

/** Append-only by a trigger. */
export const statementLines = pgTable(
  'statement_lines',
  {
    statementId: id('statement_id').notNull(),
    n: integer('n').notNull(),
    meter: text('meter').notNull(),
    /** Empty for a shortfall of credit, whose cents are its own. */
    priceId: id('price_id').notNull(),
    meteredMs: bigint('metered_ms', { mode: 'number' }).notNull(),
    includedMs: bigint('included_ms', { mode: 'number' }).notNull(),
    /** Amount in pico-units, which is milliseconds times the price. */
    list: numeric('list', { precision: 38, scale: 0 }).notNull(),
    included: numeric('included', { precision: 38, scale: 0 }).notNull(),
    listCents: cents('list_cents'),
    netCents: cents('net_cents'),
  },
  (t) => [primaryKey({ columns: [t.statementId, t.n] })],
);
