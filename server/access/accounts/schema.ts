import { sql } from 'drizzle-orm';
import { boolean, index, integer, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { bytes, id, instant } from '../../base/db/columns.ts';

export const users = pgTable(
  'users',
  {
    id: id('id').primaryKey(),
    /** Lower-cased. */
    email: text('email').notNull(),
    username: text('username').notNull(),
    /** PHC string. */
    passwordHash: text('password_hash').notNull(),
    staff: boolean('staff').notNull().default(false),
    createdAt: instant('created_at').notNull(),
    /**
     * It was proved at this time that the address is the holder's. It is null where whoever saw an invitation
     * to it made the account.
     */
    emailVerifiedAt: instant('email_verified_at'),
  },
  (t) => [uniqueIndex('users_email').on(t.email), uniqueIndex('users_username').on(t.username)],
);

/** Tokens with which the owner of an address, known to staff, makes the verified account of it. */
export const accountClaims = pgTable(
  'account_claims',
  {
    id: id('id').primaryKey(),
    /** Lower-cased. */
    email: text('email').notNull(),
    /** SHA-256 of the token. */
    tokenHash: bytes('token_hash').notNull(),
    /** The member of staff who vouches. */
    createdBy: id('created_by')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    createdAt: instant('created_at').notNull(),
    expiresAt: instant('expires_at').notNull(),
    usedAt: instant('used_at'),
  },
  (t) => [
    uniqueIndex('account_claims_token_hash').on(t.tokenHash),
    uniqueIndex('account_claims_open')
      .on(t.email)
      .where(sql`${t.usedAt} is null`),
  ],
);

/** Tokens that were mailed to the address of an account. */
export const emailVerifications = pgTable(
  'email_verifications',
  {
    id: id('id').primaryKey(),
    userId: id('user_id')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    /** The address that it was mailed to: the token is good while it is the account's. */
    email: text('email').notNull(),
    /** SHA-256 of the token. */
    tokenHash: bytes('token_hash').notNull(),
    createdAt: instant('created_at').notNull(),
    expiresAt: instant('expires_at').notNull(),
    usedAt: instant('used_at'),
  },
  (t) => [
    uniqueIndex('email_verifications_token_hash').on(t.tokenHash),
    index('email_verifications_user').on(t.userId, t.createdAt),
    index('email_verifications_expires').on(t.expiresAt),
  ],
);

export const sessions = pgTable(
  'sessions',
  {
    id: id('id').primaryKey(),
    userId: id('user_id')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    /** SHA-256 of the token. */
    tokenHash: bytes('token_hash').notNull(),
    createdAt: instant('created_at').notNull(),
    lastSeenAt: instant('last_seen_at').notNull(),
    /** Absolute end; the idle end follows from `last_seen_at`. */
    expiresAt: instant('expires_at').notNull(),
    /** Sessions of before say nothing of how, from where and with what program they began. */
    method: text('method').$type<'password' | 'password_and_code'>().notNull().default('password'),
    remoteAddress: text('remote_address').notNull().default(''),
    userAgent: text('user_agent').notNull().default(''),
  },
  (t) => [
    uniqueIndex('sessions_token_hash').on(t.tokenHash),
    index('sessions_user').on(t.userId),
    index('sessions_expires').on(t.expiresAt),
  ],
);

export const totp = pgTable('totp', {
  userId: id('user_id')
    .primaryKey()
    .references(() => users.id, { onDelete: 'cascade' }),
  /** Envelope-encrypted secret, see base/secrets. */
  secret: text('secret').notNull(),
  confirmedAt: instant('confirmed_at'),
  /** Last accepted 30-second step: a code counts once. */
  lastStep: integer('last_step').notNull().default(0),
  /** SHA-256 hex of the unused recovery codes. */
  recoveryHashes: text('recovery_hashes')
    .array()
    .notNull()
    .default(sql`'{}'`),
  createdAt: instant('created_at').notNull(),
});
