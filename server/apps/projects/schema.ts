import { index, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { id, instant } from '../../platform/db/columns.ts';
import { teams } from '../../platform/resource/schema.ts';

export const projects = pgTable(
  'projects',
  {
    id: id('id').primaryKey(),
    teamId: id('team_id')
      .notNull()
      .references(() => teams.id, { onDelete: 'cascade' }),
    name: text('name').notNull(),
    slug: text('slug').notNull().unique(),
    createdAt: instant('created_at').notNull(),
  },
  (t) => [
    // Target of the composite foreign keys of everything that belongs to a project.
    uniqueIndex('projects_team_id').on(t.teamId, t.id),
    index('projects_newest').on(t.teamId, t.createdAt.desc(), t.id.desc()),
  ],
);
