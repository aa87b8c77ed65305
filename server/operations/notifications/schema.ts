import { sql } from 'drizzle-orm';
import { foreignKey, index, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { users } from '../../access/accounts/schema.ts';
import { id, instant } from '../../platform/db/columns.ts';
import { teams } from '../../platform/resource/schema.ts';

/** What people are told: one row per person and event. */
export const notifications = pgTable(
  'notifications',
  {
    id: id('id').primaryKey(),
    userId: id('user_id').notNull(),
    teamId: id('team_id')
      .notNull()
      .references(() => teams.id, { onDelete: 'cascade' }),
    /** Row of the outbox that it comes from. */
    eventId: id('event_id').notNull(),
    kind: text('kind').notNull(),
    title: text('title').notNull(),
    body: text('body').notNull(),
    createdAt: instant('created_at').notNull(),
    readAt: instant('read_at'),
  },
  (t) => [
    uniqueIndex('notifications_once').on(t.userId, t.eventId),
    index('notifications_newest').on(t.userId, t.createdAt.desc(), t.id.desc()),
    index('notifications_unread')
      .on(t.userId)
      .where(sql`${t.readAt} is null`),
    foreignKey({ columns: [t.userId], foreignColumns: [users.id], name: 'notifications_user_fk' }).onDelete(
      'cascade',
    ),
  ],
);
