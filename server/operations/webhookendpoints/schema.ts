import { sql } from 'drizzle-orm';
import {
  boolean,
  check,
  foreignKey,
  index,
  integer,
  jsonb,
  pgTable,
  text,
  uniqueIndex,
} from 'drizzle-orm/pg-core';
import { id, instant } from '../../platform/db/columns.ts';
import { teams } from '../../platform/resource/schema.ts';

export interface Attempt {
  /** RFC 3339. */
  readonly at: string;
  readonly durationMs: number;
  /** Null without an answer. */
  readonly status: number | null;
  /** Empty when nothing went wrong. Never holds anything of the answer's body. */
  readonly error: string;
}

export const webhookEndpoints = pgTable(
  'webhook_endpoints',
  {
    id: id('id').primaryKey(),
    teamId: id('team_id')
      .notNull()
      .references(() => teams.id, { onDelete: 'cascade' }),
    url: text('url').notNull(),
    description: text('description').notNull().default(''),
    events: text('events').array().notNull(),
    /** Envelope-encrypted, see platform/secrets. */
    secret: text('secret').notNull(),
    /** The one before, which signs too until `previous_until`. */
    previousSecret: text('previous_secret'),
    previousUntil: instant('previous_until'),
    enabled: boolean('enabled').notNull().default(true),
    disabledReason: text('disabled_reason').notNull().default(''),
    /** First failure since the last success; null when the latest delivery went well. */
    failingSince: instant('failing_since'),
    createdAt: instant('created_at').notNull(),
  },
  (t) => [
    uniqueIndex('webhook_endpoints_team').on(t.teamId, t.id),
    check('webhook_endpoints_previous', sql`(${t.previousSecret} is null) = (${t.previousUntil} is null)`),
  ],
);

/** One event for one endpoint, with every attempt. */
export const webhookDeliveries = pgTable(
  'webhook_deliveries',
  {
    /** `msg_…`, the `webhook-id` of every attempt. */
    id: id('id').primaryKey(),
    teamId: id('team_id').notNull(),
    endpointId: id('endpoint_id').notNull(),
    /** Row of the outbox that it comes from; its own id for a test. */
    eventId: id('event_id').notNull(),
    event: text('event').notNull(),
    /** The body as it is sent, the same bytes in every attempt. */
    body: text('body').notNull(),
    state: text('state', { enum: ['pending', 'delivered', 'failed'] }).notNull(),
    attemptCount: integer('attempt_count').notNull().default(0),
    attempts: jsonb('attempts').$type<readonly Attempt[]>().notNull().default([]),
    /** Null once it is over. While an attempt runs: when it counts as lost with its worker. */
    nextAttemptAt: instant('next_attempt_at'),
    createdAt: instant('created_at').notNull(),
  },
  (t) => [
    uniqueIndex('webhook_deliveries_once').on(t.endpointId, t.eventId),
    index('webhook_deliveries_newest').on(t.endpointId, t.createdAt.desc(), t.id.desc()),
    index('webhook_deliveries_due')
      .on(t.nextAttemptAt)
      .where(sql`${t.state} = 'pending'`),
    foreignKey({
      columns: [t.teamId, t.endpointId],
      foreignColumns: [webhookEndpoints.teamId, webhookEndpoints.id],
      name: 'webhook_deliveries_endpoint_fk',
    }).onDelete('cascade'),
    check('webhook_deliveries_state', sql`${t.state} in ('pending', 'delivered', 'failed')`),
    check('webhook_deliveries_due', sql`(${t.state} = 'pending') = (${t.nextAttemptAt} is not null)`),
  ],
);
