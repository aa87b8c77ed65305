/** Tables of the platform itself. */
import { index, integer, pgTable, primaryKey, text } from 'drizzle-orm/pg-core';
import { bytes, instant } from './columns.ts';

/** What the installation must remember about itself: the key-encryption check, the pepper's check value, first start. */
export const settings = pgTable('settings', {
  key: text('key').primaryKey(),
  value: text('value').notNull(),
});

/** Answers of keyed calls, kept 24 hours. The row is written in the transaction (or statement) of the effect. */
export const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    /** `user:<id>`, with `/<team>` of a key that is narrowed to one, or `ci_job:<run>`: a key is the caller's own, whichever credential is used. */
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
