import { sql } from 'drizzle-orm';
import { check, foreignKey, integer, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { environments } from '../environments/schema.ts';
import { id, instant } from '../../platform/db/columns.ts';

export const variables = pgTable(
  'variables',
  {
    id: id('id').primaryKey(),
    teamId: id('team_id').notNull(),
    environmentId: id('environment_id').notNull(),
    name: text('name').notNull(),
    /** Of a plain one. */
    value: text('value'),
    /** Of a secret one, encrypted and bound to the row. */
    sealed: text('sealed'),
    /** Of the value, for the limit on all of an environment. */
    bytes: integer('bytes').notNull(),
    createdAt: instant('created_at').notNull(),
    updatedAt: instant('updated_at').notNull(),
  },
  (t) => [
    uniqueIndex('variables_name').on(t.environmentId, t.name),
    check('variables_one_value', sql`(${t.value} is null) <> (${t.sealed} is null)`),
    foreignKey({
      columns: [t.teamId, t.environmentId],
      foreignColumns: [environments.teamId, environments.id],
      name: 'variables_environment_fk',
    }).onDelete('cascade'),
  ],
);
