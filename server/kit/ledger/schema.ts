import { sql } from 'drizzle-orm';
import { bigint, check, integer, jsonb, pgTable, primaryKey, text } from 'drizzle-orm/pg-core';

/**
 * Each row is the end of a chain. Whoever appends locks its row first, so that entries have one order and no
 * holes. Neither table refers to teams: a team's ledger outlives the team.
 */
export const auditHeads = pgTable('audit_heads', {
  /** Team id, or `platform`. */
  chain: text('chain').primaryKey(),
  /** Place of the last entry; 0 when there is none. */
  seq: integer('seq').notNull(),
  /** Hash of the last entry; 64 zeros when there is none. */
  hash: text('hash').notNull(),
});

/**
 * Append-only: a trigger refuses every change (see the migration), and the role that the server works under
 * may only insert and read (base/db/role.ts). What the hash covers and how is in entry.ts.
 */
export const auditEntries = pgTable(
  'audit_entries',
  {
    chain: text('chain').notNull(),
    /** Place in the chain, from 1 and without holes. */
    seq: integer('seq').notNull(),
    /** Milliseconds since 1970: the hash covers a number, not a spelling of a time. */
    at: bigint('at', { mode: 'number' }).notNull(),
    actorKind: text('actor_kind', {
      enum: ['user', 'api_key', 'runner', 'ci_job', 'agent', 'system'],
    }).notNull(),
    actorId: text('actor_id').notNull(),
    actorDisplay: text('actor_display').notNull(),
    action: text('action').notNull(),
    target: text('target').notNull(),
    details: jsonb('details').notNull(),
    /** Empty when no request made it. */
    requestId: text('request_id').notNull(),
    /** Hexadecimal, as is `hash`. */
    previousHash: text('previous_hash').notNull(),
    hash: text('hash').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.chain, t.seq] }),
    check(
      'audit_entries_actor_kind',
      sql`${t.actorKind} in ('user', 'api_key', 'runner', 'ci_job', 'agent', 'system')`,
    ),
  ],
);
