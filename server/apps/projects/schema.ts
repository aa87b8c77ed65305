import { text, uniqueIndex } from 'drizzle-orm/pg-core';
import { teamTable } from '../../kit/resource/team-table.ts';

export const projects = teamTable(
  { name: 'projects', kind: 'project', prefix: 'prj' },
  { name: text('name').notNull(), slug: text('slug').notNull() },
  (t) => [uniqueIndex('projects_slug').on(t.teamId, t.slug)],
);
