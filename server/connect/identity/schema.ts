import { index, jsonb, pgTable, primaryKey, text } from 'drizzle-orm/pg-core';
import { bytes, id, instant } from '../../base/db/columns.ts';
import type { CiJob } from '../../kit/context.ts';
import { ofConnection } from '../connections/schema.ts';

/** id_tokens that were taken, until they end: each is good once, at whichever server. */
export const ciUsedIdTokens = pgTable(
  'ci_used_id_tokens',
  {
    issuer: text('issuer').notNull(),
    /** The token's own id, `jti`. */
    jti: text('jti').notNull(),
    /** The time from which the token is refused for its age, and the row may go. */
    expiresAt: instant('expires_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.issuer, t.jti] }), index('ci_used_id_tokens_expires').on(t.expiresAt)],
);

/** Tokens that id_tokens were exchanged for. They end with their connection. */
export const ciJobTokens = pgTable(
  'ci_job_tokens',
  {
    /** SHA-256 of the token. */
    tokenHash: bytes('token_hash').primaryKey(),
    teamId: id('team_id').notNull(),
    connectionId: id('connection_id').notNull(),
    /**
     * The job that the id_token named: it is held against connection and request at each use, as an id_token
     * is.
     */
    job: jsonb('job').$type<CiJob>().notNull(),
    expiresAt: instant('expires_at').notNull(),
    createdAt: instant('created_at').notNull(),
  },
  (t) => [
    index('ci_job_tokens_connection').on(t.connectionId),
    index('ci_job_tokens_expires').on(t.expiresAt),
    ofConnection(t, 'ci_job_tokens_connection_fk'),
  ],
);
