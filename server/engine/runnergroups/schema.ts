import { check, integer, jsonb, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { sql } from 'drizzle-orm';
import { teamTable } from '../../kit/resource/team-table.ts';

export const runnerGroups = teamTable(
  { name: 'runner_groups', kind: 'runner group', prefix: 'grp' },
  {
    name: text('name').notNull(),
    /**
     * They win over those of its runners; a daemon that claims one of their keys claims nothing by it, in the
     * group or not.
     */
    labels: jsonb('labels').$type<Record<string, string>>().notNull(),
    /** Items that its runners hold at once. Null: as many as they take. */
    maxRunning: integer('max_running'),
    /**
     * Moves with each grant to a runner of a group with a limit: whoever counts what they hold sees by it
     * that he counted in time.
     */
    grants: integer('grants').notNull().default(0),
  },
  (t) => [
    uniqueIndex('runner_groups_name').on(t.teamId, t.name),
    check('runner_groups_max_running', sql`${t.maxRunning} > 0`),
  ],
);
