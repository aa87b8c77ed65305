import { sql } from 'drizzle-orm';
import { check, index, integer, jsonb, pgTable, primaryKey, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { EventState, EventStateSchema } from '@svc/proto/gen/svc/adminevents/v1/adminevents_pb.ts';
import { id, instant } from '../../base/db/columns.ts';
import { enumWords } from '../resource/team-table.ts';

/**
 * Events for the world outside of dispatch (webhooks, notifications), written with their cause and deleted
 * with their effects.
 */
export const outbox = pgTable(
  'outbox',
  {
    id: id('id').primaryKey(),
    teamId: id('team_id').notNull(),
    kind: text('kind').notNull(),
    dedupeKey: text('dedupe_key').notNull(),
    payload: jsonb('payload').$type<Record<string, unknown>>().notNull(),
    createdAt: instant('created_at').notNull(),
  },
  (t) => [uniqueIndex('outbox_dedupe').on(t.kind, t.dedupeKey), index('outbox_due').on(t.createdAt)],
);

/**
 * Each row is an effect that failed on an event whose other effects are done; see parked.ts. A row goes away
 * with its effect.
 */
export const outboxParked = pgTable(
  'outbox_parked',
  {
    eventId: id('event_id').notNull(),
    /** Name of its first CTE. */
    effect: text('effect').notNull(),
    /** The team may be gone: that may be why the effect failed. */
    teamId: id('team_id').notNull(),
    kind: text('kind').notNull(),
    dedupeKey: text('dedupe_key').notNull(),
    payload: jsonb('payload').$type<Record<string, unknown>>().notNull(),
    createdAt: instant('created_at').notNull(),
    state: text('state', { enum: enumWords(EventState, EventStateSchema) }).notNull(),
    attempts: integer('attempts').notNull(),
    /** Time of the next try or, when it is dead, of the last one. */
    dueAt: instant('due_at').notNull(),
    lastError: text('last_error').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.eventId, t.effect] }),
    check('outbox_parked_state', sql`${t.state} in ('waiting', 'dead')`),
    index('outbox_parked_due')
      .on(t.dueAt)
      .where(sql`${t.state} = 'waiting'`),
    index('outbox_parked_team').on(t.teamId, t.effect, t.createdAt),
  ],
);
