/** These are the tables of the platform itself. */
import { sql } from 'drizzle-orm';
import { check, index, integer, pgTable, primaryKey, text } from 'drizzle-orm/pg-core';
import { bytes, instant } from './columns.ts';

/**
 * The installation remembers here about itself: the key-encryption check, the pepper's check value, first
 * start.
 */
export const settings = pgTable('settings', {
  key: text('key').primaryKey(),
  value: text('value').notNull(),
});

/**
 * One row: how often this database went back in time, by a promotion or a restored dump, so that what was
 * granted in a lost future matches nothing. See generation.ts.
 */
export const databaseGeneration = pgTable(
  'database_generation',
  {
    one: integer('one').primaryKey(),
    generation: integer('generation').notNull(),
    /** Answer of `database_origin()` when the generation began. */
    madeFor: text('made_for').notNull(),
  },
  (t) => [
    check('database_generation_one', sql`${t.one} = 1`),
    check('database_generation_bounds', sql`${t.generation} between 0 and 32767`),
  ],
);

/**
 * Answers of keyed calls, kept 24 hours. The row is written in the transaction (or statement) of the effect.
 */
export const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    /**
     * `user:<id>`, with `/<team>` of a key that is narrowed to one, or `ci_job:<run>`: a key is the caller's
     * own, whichever credential is used.
     */
    principal: text('principal').notNull(),
    rpc: text('rpc').notNull(),
    key: text('key').notNull(),
    /** SHA-256 over the rpc name and the canonical request message. */
    fingerprint: bytes('fingerprint').notNull(),
    /** HTTP status of the stored answer. */
    status: integer('status').notNull(),
    /** Binary protobuf of the response message, or the error as JSON when the status is 4xx. */
    response: bytes('response').notNull(),
    createdAt: instant('created_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.principal, t.rpc, t.key] }),
    index('idempotency_keys_created').on(t.createdAt),
  ],
);
