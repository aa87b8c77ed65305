import { index, integer, text } from 'drizzle-orm/pg-core';
import { environments } from '../environments/schema.ts';
import { id } from '../../base/db/columns.ts';
import { teamTable } from '../../kit/resource/team-table.ts';

export const buildSteps = teamTable(
  { name: 'build_steps', kind: 'build step', prefix: 'bst', within: { environmentId: environments } },
  {
    environmentId: id('environment_id').notNull(),
    /** Positions count from 1, without gaps; a lock on the environment keeps them so. */
    position: integer('position').notNull(),
    command: text('command').notNull(),
  },
  (t) => [index('build_steps_order').on(t.environmentId, t.position)],
);
