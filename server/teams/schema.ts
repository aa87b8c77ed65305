import { sql } from 'drizzle-orm';
import { boolean, check, index, pgTable, primaryKey, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { users } from '../accounts/schema.ts';
import { bytes, id, instant } from '../platform/db/columns.ts';
import { regions } from '../regions/schema.ts';

export const teams = pgTable(
  'teams',
  {
    id: id('id').primaryKey(),
    name: text('name').notNull(),
    description: text('description').notNull().default(''),
    avatarUrl: text('avatar_url'),
    kind: text('kind', { enum: ['personal', 'organization'] })
      .notNull()
      .default('organization'),
    regionId: id('region_id')
      .notNull()
      .references(() => regions.id),
    /** The one team whose runners are the service's own pool. */
    servicePool: boolean('service_pool').notNull().default(false),
    createdAt: instant('created_at').notNull(),
  },
  (t) => [
    check('teams_kind', sql`${t.kind} in ('personal', 'organization')`),
    uniqueIndex('teams_one_service_pool')
      .on(t.servicePool)
      .where(sql`${t.servicePool}`),
  ],
);

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
    /** Whose invitation it is: it holds while that person could still make it. Null in rows that were accepted before it was noted. */
    invitedBy: id('invited_by').references(() => users.id, { onDelete: 'cascade' }),
    /** The API key that it was made with, which it ends with. */
    invitedWithKey: id('invited_with_key'),
    /** The account without a verified address that accepted and waits for the team's word. */
    awaitingUserId: id('awaiting_user_id').references(() => users.id, { onDelete: 'set null' }),
    awaitingSince: instant('awaiting_since'),
  },
  (t) => [
    uniqueIndex('team_invites_token_hash').on(t.tokenHash),
    uniqueIndex('team_invites_open')
      .on(t.teamId, t.email)
      .where(sql`${t.acceptedAt} is null`),
  ],
);
