import { sql } from 'drizzle-orm';
import { foreignKey, index, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { users } from '../../access/accounts/schema.ts';
import { id, instant } from '../../base/db/columns.ts';
import { teamTable } from '../../kit/resource/team-table.ts';

/** One row per person and event. */
export const notifications = teamTable(
  { name: 'notifications', kind: 'notification', prefix: 'ntf' },
  {
    userId: id('user_id').notNull(),
    /** Row of the outbox that it comes from. */
    eventId: id('event_id').notNull(),
    kind: text('kind').notNull(),
    title: text('title').notNull(),
    body: text('body').notNull(),
    readAt: instant('read_at'),
  },
  (t) => [
    uniqueIndex('notifications_once').on(t.userId, t.eventId),
    index('notifications_newest').on(t.userId, t.createdAt, t.id),
    index('notifications_unread')
      .on(t.userId)
      .where(sql`${t.readAt} is null`),
    foreignKey({ columns: [t.userId], foreignColumns: [users.id], name: 'notifications_user_fk' }).onDelete(
      'cascade',
    ),
  ],
);
