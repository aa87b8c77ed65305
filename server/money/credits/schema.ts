/**
 * Credit by double entry. A wrong balance cannot be written: each entry names the one before it with that
 * one's balance.
 */
import { sql } from 'drizzle-orm';
import {
  bigint,
  check,
  foreignKey,
  index,
  integer,
  pgTable,
  primaryKey,
  text,
  unique,
} from 'drizzle-orm/pg-core';
import { CreditKind, CreditKindSchema } from '@svc/proto/gen/svc/costs/v1/costs_pb.ts';
import { id, instant } from '../../base/db/columns.ts';
import { enumColumn } from '../../kit/resource/team-table.ts';

/**
 * Accounts of each team. Its credit is `available`; `disputed` is held back; the others say where it came
 * from and went.
 */
export const ACCOUNTS = [
  'available',
  'bought',
  'granted',
  'consumed',
  'refunded',
  'expired',
  'disputed',
] as const;
export type Account = (typeof ACCOUNTS)[number];
const isAccount = (column: string) =>
  sql.raw(`${column} in (${ACCOUNTS.map((name) => `'${name}'`).join(', ')})`);

/** Append-only by a trigger. */
export const creditTransfers = pgTable(
  'credit_transfers',
  {
    id: id('id').primaryKey(),
    teamId: id('team_id').notNull(),
    kind: enumColumn('kind', CreditKind, CreditKindSchema).notNull(),
    /** Origin of the transfer, unique for ever: a payment, a statement with the block, or a grant. */
    source: text('source').notNull(),
    from: text('from', { enum: ACCOUNTS }).notNull(),
    to: text('to', { enum: ACCOUNTS }).notNull(),
    cents: bigint('cents', { mode: 'number' }).notNull(),
    /** The purchase or grant that is used, given back or ended. */
    blockId: id('block_id'),
    reason: text('reason'),
    expiresAt: instant('expires_at'),
    createdAt: instant('created_at').notNull(),
  },
  (t) => [
    unique('credit_transfers_once').on(t.kind, t.source),
    index('credit_transfers_of_team').on(t.teamId, t.createdAt, t.id),
    index('credit_transfers_of_block')
      .on(t.blockId)
      .where(sql`${t.blockId} is not null`),
    check(
      'credit_transfers_kind',
      sql`${t.kind} in ('purchase', 'grant', 'usage', 'refund', 'expiry', 'dispute', 'dispute_won', 'dispute_lost', 'usage_returned', 'grant_revoked', 'statement_refund', 'statement_dispute_lost')`,
    ),
    check('credit_transfers_from', isAccount('"from"')),
    check('credit_transfers_to', isAccount('"to"')),
    check('credit_transfers_cents', sql`${t.cents} > 0 and ${t.from} <> ${t.to}`),
  ],
);

/** Append-only by a trigger: two of each transfer. */
export const creditEntries = pgTable(
  'credit_entries',
  {
    teamId: id('team_id').notNull(),
    account: text('account', { enum: ACCOUNTS }).notNull(),
    seq: integer('seq').notNull(),
    transferId: id('transfer_id')
      .notNull()
      .references(() => creditTransfers.id),
    cents: bigint('cents', { mode: 'number' }).notNull(),
    previousSeq: integer('previous_seq'),
    previousBalance: bigint('previous_balance', { mode: 'number' }),
    balance: bigint('balance', { mode: 'number' }).notNull(),
  },
  (t) => [
    primaryKey({ name: 'credit_entries_pk', columns: [t.teamId, t.account, t.seq] }),
    unique('credit_entries_balance').on(t.teamId, t.account, t.seq, t.balance),
    index('credit_entries_of_transfer').on(t.transferId),
    foreignKey({
      name: 'credit_entries_previous',
      columns: [t.teamId, t.account, t.previousSeq, t.previousBalance],
      foreignColumns: [t.teamId, t.account, t.seq, t.balance],
    }),
    check('credit_entries_account', isAccount('account')),
    check('credit_entries_sum', sql`${t.balance} = coalesce(${t.previousBalance}, 0) + ${t.cents}`),
    check('credit_entries_gapless', sql`${t.seq} = coalesce(${t.previousSeq}, 0) + 1`),
    check('credit_entries_first', sql`(${t.previousSeq} is null) = (${t.previousBalance} is null)`),
    check(
      'credit_entries_not_negative',
      sql`${t.account} not in ('available', 'disputed') or ${t.balance} >= 0`,
    ),
  ],
);
