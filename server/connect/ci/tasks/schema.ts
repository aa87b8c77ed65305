import { sql } from 'drizzle-orm';
import { index, integer, jsonb, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { id, instant } from '../../../platform/db/columns.ts';
import { teams } from '../../../platform/resource/schema.ts';

/** What is to be asked of providers in the background; a row goes away with its end. */
export const ciTasks = pgTable(
  'ci_tasks',
  {
    id: id('id').primaryKey(),
    teamId: id('team_id')
      .notNull()
      .references(() => teams.id, { onDelete: 'cascade' }),
    /** No foreign key: a subscription is taken back after its connection was deleted. */
    connectionId: id('connection_id').notNull(),
    kind: text('kind').notNull(),
    /** One task of a kind and key at a time: asking again while it waits changes what it does, not how often. */
    key: text('key').notNull(),
    /** Tasks of one lane are done one after the other. */
    lane: text('lane').notNull(),
    payload: jsonb('payload').$type<Readonly<Record<string, unknown>>>().notNull(),
    /** Rises with each asking: a worker that ends an older one leaves the row for the newer. */
    version: integer('version').notNull().default(1),
    attempts: integer('attempts').notNull().default(0),
    dueAt: instant('due_at').notNull(),
    /** A worker has it until then; later it is taken for dead. */
    claimedUntil: instant('claimed_until'),
    createdAt: instant('created_at').notNull(),
  },
  (t) => [
    uniqueIndex('ci_tasks_key').on(t.connectionId, t.kind, t.key),
    index('ci_tasks_due').on(t.dueAt),
    index('ci_tasks_lane')
      .on(t.lane, t.claimedUntil)
      .where(sql`${t.claimedUntil} is not null`),
  ],
);
