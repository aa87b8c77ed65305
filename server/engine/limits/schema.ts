/**
 * The tables say what holds a team's work back. Money writes these rows, and the engine reads them where work
 * is submitted and runners are enrolled.
 */
import { sql } from 'drizzle-orm';
import { check, integer, jsonb, pgTable, primaryKey, text } from 'drizzle-orm/pg-core';
import { id, instant } from '../../base/db/columns.ts';

/** Scopes whose new work is refused, each with its cause. Nearly always empty. */
export const spendGates = pgTable(
  'spend_gates',
  {
    teamId: id('team_id').notNull(),
    /** It is the id of a project or an environment, or empty for all work of the team. */
    scope: id('scope').notNull(),
    cause: text('cause', { enum: ['included_time', 'budget', 'payment'] }).notNull(),
    /** Figures that a refusal names. */
    details: jsonb('details').$type<Readonly<Record<string, string | number>>>().notNull(),
    since: instant('since').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.teamId, t.scope, t.cause] }),
    check('spend_gates_cause', sql`${t.cause} in ('included_time', 'budget', 'payment')`),
  ],
);

/**
 * Limits of the payer's plan where they are lower than the installation's own; read where those are. Nearly
 * always empty.
 */
export const teamLimits = pgTable('team_limits', {
  teamId: id('team_id').primaryKey(),
  queuedMax: integer('queued_max'),
  runnersMax: integer('runners_max'),
  runTimeoutSecondsMax: integer('run_timeout_seconds_max'),
});
