import { sql } from 'drizzle-orm';
import { check, index, pgTable, primaryKey, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { users } from '../accounts/schema.ts';
import { bytes, id, instant } from '../../base/db/columns.ts';
import { teams } from '../../kit/resource/schema.ts';

const roles = ['viewer', 'developer', 'admin', 'owner'] as const;

export const teamMembers = pgTable(
  'team_members',
  {
    teamId: id('team_id')
      .notNull()
      .references(() => teams.id, { onDelete: 'cascade' }),
    userId: id('user_id')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    role: text('role', { enum: roles }).notNull(),
    joinedAt: instant('joined_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.teamId, t.userId] }),
    index('team_members_user').on(t.userId),
    check('team_members_role', sql`${t.role} in ('viewer', 'developer', 'admin', 'owner')`),
  ],
);

export const teamInvites = pgTable(
  'team_invites',
  {
    id: id('id').primaryKey(),
    teamId: id('team_id')
      .notNull()
      .references(() => teams.id, { onDelete: 'cascade' }),
    email: text('email').notNull(),
    role: text('role', { enum: roles }).notNull(),
    /** SHA-256 of the token. */
    tokenHash: bytes('token_hash').notNull(),
    createdAt: instant('created_at').notNull(),
    expiresAt: instant('expires_at').notNull(),
    acceptedAt: instant('accepted_at'),
    /**
     * The person whose invitation it is: it holds while that person could still make it. Null in rows that
     * were accepted before it was noted.
     */
    invitedBy: id('invited_by').references(() => users.id, { onDelete: 'cascade' }),
    /** The API key that it was made with, which it ends with. */
    invitedWithKey: id('invited_with_key'),
    /** The account without a verified address that accepted and waits until the team confirms it. */
    awaitingUserId: id('awaiting_user_id').references(() => users.id, { onDelete: 'set null' }),
    awaitingSince: instant('awaiting_since'),
    /** It is null where nothing is mailed and whoever made the invitation has its token. */
    mail: text('mail', { enum: ['waiting', 'sent', 'failed'] }),
    mailProblem: text('mail_problem'),
  },
  (t) => [
    uniqueIndex('team_invites_token_hash').on(t.tokenHash),
    uniqueIndex('team_invites_open')
      .on(t.teamId, t.email)
      .where(sql`${t.acceptedAt} is null`),
    check('team_invites_mail', sql`${t.mail} in ('waiting', 'sent', 'failed')`),
  ],
);

/**
 * Append-only by a trigger, and without a reference: who pays for a team from when. It is asked for months
 * whose team is gone.
 */
export const teamPayers = pgTable(
  'team_payers',
  {
    teamId: id('team_id').notNull(),
    fromAt: instant('from_at').notNull(),
    payerId: id('payer_id').notNull(),
  },
  (t) => [primaryKey({ columns: [t.teamId, t.fromAt] }), index('team_payers_of_account').on(t.payerId)],
);
