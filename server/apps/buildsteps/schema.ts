import { foreignKey, index, integer, pgTable, text } from 'drizzle-orm/pg-core';
import { environments } from '../environments/schema.ts';
import { id, instant } from '../../platform/db/columns.ts';

export const buildSteps = pgTable(
  'build_steps',
  {
    id: id('id').primaryKey(),
    teamId: id('team_id').notNull(),
    environmentId: id('environment_id').notNull(),
    /** From 1, without gaps; kept so under a lock on the environment. */
    position: integer('position').notNull(),
    command: text('command').notNull(),
    createdAt: instant('created_at').notNull(),
  },
  (t) => [
    index('build_steps_order').on(t.environmentId, t.position),
    foreignKey({
      columns: [t.teamId, t.environmentId],
      foreignColumns: [environments.teamId, environments.id],
      name: 'build_steps_environment_fk',
    }).onDelete('cascade'),
  ],
);
