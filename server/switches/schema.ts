import { sql } from 'drizzle-orm';
import { check, integer, jsonb, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { id, instant } from '../base/db/columns.ts';

/**
 * One row: the number of the present state of all switches. Whoever moves a switch locks it first, so that
 * changes have one order and each of them is computed on the state that it really changes.
 */
export const platformFeatureRevision = pgTable(
  'platform_feature_revision',
  {
    one: integer('one').primaryKey().default(1),
    revision: integer('revision').notNull().default(0),
  },
  (t) => [check('platform_feature_revision_one', sql`${t.one} = 1`)],
);

/**
 * Append-only: triggers refuse every change, see the migration. `affected`: what the switch did to every
 * feature, in the spelling of the API.
 */
export const platformFeatureChanges = pgTable(
  'platform_feature_changes',
  {
    id: id('id').primaryKey(),
    at: instant('at').notNull(),
    key: text('key').notNull(),
    from: text('from_state', { enum: ['enabled', 'disabled'] }).notNull(),
    to: text('to_state', { enum: ['enabled', 'disabled'] }).notNull(),
    revisionFrom: integer('revision_from').notNull(),
    revisionTo: integer('revision_to').notNull(),
    reason: text('reason').notNull(),
    actorKind: text('actor_kind', { enum: ['user', 'api_key', 'environment'] }).notNull(),
    actorId: text('actor_id').notNull(),
    actorDisplay: text('actor_display').notNull(),
    source: text('source', { enum: ['console', 'api', 'cli', 'boot'] }).notNull(),
    /** Empty when a process did it at its start. */
    requestId: text('request_id').notNull(),
    affected: jsonb('affected').notNull(),
  },
  (t) => [
    // Also the order of the history, and the proof that no two writers made the same revision.
    uniqueIndex('platform_feature_changes_revision').on(t.key, t.revisionTo),
    check(
      'platform_feature_changes_states',
      sql`${t.from} in ('enabled', 'disabled') and ${t.to} in ('enabled', 'disabled')`,
    ),
    check(
      'platform_feature_changes_step',
      sql`${t.revisionTo} = ${t.revisionFrom} + 1 and ${t.from} <> ${t.to}`,
    ),
  ],
);

/** Switches that were moved at least once; the others are where the manifest's default says. */
export const platformFeatureStates = pgTable(
  'platform_feature_states',
  {
    key: text('key').primaryKey(),
    state: text('state', { enum: ['enabled', 'disabled'] }).notNull(),
    /** Changes of this switch so far. */
    revision: integer('revision').notNull(),
    lastChangeId: id('last_change_id')
      .notNull()
      .references(() => platformFeatureChanges.id),
    updatedAt: instant('updated_at').notNull(),
  },
  (t) => [check('platform_feature_states_state', sql`${t.state} in ('enabled', 'disabled')`)],
);
