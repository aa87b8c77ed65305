import { sql } from 'drizzle-orm';
import { check, integer, pgTable, primaryKey, smallint, text } from 'drizzle-orm/pg-core';
import { id } from '../../base/db/columns.ts';
import { teams } from '../../kit/resource/schema.ts';

/**
 * The table says what a team has of the service's own pool, where staff said otherwise than the default:
 * weight 1 and no limit.
 */
export const teamShares = pgTable(
  'team_shares',
  {
    teamId: id('team_id')
      .notNull()
      .references(() => teams.id, { onDelete: 'cascade' }),
    kind: text('kind', { enum: ['run', 'build'] }).notNull(),
    weight: smallint('weight').notNull(),
    /** Items of it that runners of the pool hold at once. Null: no limit. */
    maxRunning: integer('max_running'),
  },
  (t) => [
    primaryKey({ columns: [t.teamId, t.kind] }),
    check('team_shares_kind', sql`${t.kind} in ('run', 'build')`),
    check('team_shares_weight', sql`${t.weight} between 1 and 100`),
    check('team_shares_max_running', sql`${t.maxRunning} >= 0`),
  ],
);
