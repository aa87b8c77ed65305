import { sql } from 'drizzle-orm';
import { boolean, check, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { id, instant } from '../../platform/db/columns.ts';
import { teams } from '../../platform/resource/schema.ts';

export const registries = pgTable(
  'registries',
  {
    id: id('id').primaryKey(),
    teamId: id('team_id')
      .notNull()
      .references(() => teams.id, { onDelete: 'cascade' }),
    /** Lower case, with a port if any. */
    host: text('host').notNull(),
    /** Empty: none. */
    namespace: text('namespace').notNull(),
    isDefault: boolean('is_default').notNull(),
    /** Since when it is not the default any more: builds that are older than that may go by it. Null: it is, or never was. */
    defaultUntil: instant('default_until'),
    /** User name and password, encrypted as one text and bound to the row; null without. */
    sealed: text('sealed'),
    /** Plain HTTP. */
    insecure: boolean('insecure').notNull(),
    createdAt: instant('created_at').notNull(),
  },
  (t) => [
    uniqueIndex('registries_place').on(t.teamId, t.host, t.namespace),
    uniqueIndex('registries_default')
      .on(t.teamId)
      .where(sql`${t.isDefault}`),
    check('registries_default_until', sql`not ${t.isDefault} or ${t.defaultUntil} is null`),
  ],
);
