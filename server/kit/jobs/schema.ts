import { sql } from 'drizzle-orm';
import { check, index, integer, jsonb, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { id, instant } from '../../base/db/columns.ts';
import { teams } from '../resource/schema.ts';
import type { Payload } from './kind.ts';

/** Background work that must not be lost. A row goes away when its job is done. */
export const jobs = pgTable(
  'jobs',
  {
    id: id('id').primaryKey(),
    /** It is null for work of the installation, which takes turns like a team. */
    teamId: id('team_id').references(() => teams.id, { onDelete: 'cascade' }),
    kind: text('kind').notNull(),
    /**
     * The key is that of at most one open job of a kind: adding it again changes what it does, not how often.
     * Null: it is like no other.
     */
    key: text('key'),
    /** Subject of the job. At most one job of a lane runs at a time. */
    lane: text('lane').notNull(),
    payload: jsonb('payload').$type<Payload>().notNull(),
    state: text('state', { enum: ['waiting', 'running', 'dead'] })
      .notNull()
      .default('waiting'),
    /**
     * Time from which it may begin. While it runs, its worker counts as lost then; once it is dead, it is
     * forgotten then.
     */
    dueAt: instant('due_at').notNull(),
    attempts: integer('attempts').notNull().default(0),
    /** Fencing token: +1 at each claim, checked by whatever ends the claim. */
    epoch: integer('epoch').notNull().default(0),
    /** +1 when it is added again: a worker that ends an older version leaves the row waiting. */
    version: integer('version').notNull().default(1),
    lastError: text('last_error'),
    createdAt: instant('created_at').notNull(),
  },
  (t) => [
    check('jobs_state', sql`${t.state} in ('waiting', 'running', 'dead')`),
    uniqueIndex('jobs_key')
      .on(t.kind, t.key)
      .where(sql`${t.state} <> 'dead'`),
    uniqueIndex('jobs_lane')
      .on(t.lane)
      .where(sql`${t.state} = 'running'`),
    // Another spelling of the same: only a statement that looks at all teams may use it, whatever the planner
    // takes for the length of the backlog.
    index('jobs_due')
      .on(t.dueAt)
      .where(sql`${t.state} in ('waiting', 'running')`),
    index('jobs_turn')
      .on(t.kind, t.teamId, t.dueAt, t.id)
      .where(sql`${t.state} <> 'dead'`),
  ],
);
