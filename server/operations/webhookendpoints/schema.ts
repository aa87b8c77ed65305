import { sql } from 'drizzle-orm';
import { boolean, check, index, integer, jsonb, text, uniqueIndex } from 'drizzle-orm/pg-core';
import {
  DeliveryState,
  DeliveryStateSchema,
} from '@svc/proto/gen/svc/webhookendpoints/v1/webhookendpoints_pb.ts';
import { id, instant } from '../../base/db/columns.ts';
import { enumColumn, teamTable } from '../../kit/resource/team-table.ts';

export interface Attempt {
  /** RFC 3339. */
  readonly at: string;
  readonly durationMs: number;
  /** Status of the answer; it is null without one. */
  readonly status: number | null;
  /** Empty when nothing went wrong. Never holds anything of the answer's body. */
  readonly error: string;
}

export const webhookEndpoints = teamTable(
  { name: 'webhook_endpoints', kind: 'webhook endpoint', prefix: 'whe' },
  {
    url: text('url').notNull(),
    description: text('description').notNull().default(''),
    events: text('events').array().notNull(),
    /** Envelope-encrypted, see base/secrets. */
    secret: text('secret').notNull(),
    /** The one before, which signs too until `previous_until`. */
    previousSecret: text('previous_secret'),
    previousSecretUntil: instant('previous_until'),
    enabled: boolean('enabled').notNull().default(true),
    disabledReason: text('disabled_reason').notNull().default(''),
    /** First failure since the last success; null when the latest delivery went well. */
    failingSince: instant('failing_since'),
  },
  (t) => [
    check(
      'webhook_endpoints_previous',
      sql`(${t.previousSecret} is null) = (${t.previousSecretUntil} is null)`,
    ),
  ],
);

/** One event for one endpoint, with every attempt. Its id is the `webhook-id` of every attempt. */
export const webhookDeliveries = teamTable(
  {
    name: 'webhook_deliveries',
    kind: 'webhook delivery',
    prefix: 'msg',
    within: { endpointId: webhookEndpoints },
  },
  {
    endpointId: id('endpoint_id').notNull(),
    /** Row of the outbox that it comes from; its own id for a test. */
    eventId: id('event_id').notNull(),
    event: text('event').notNull(),
    /** The body as it is sent, the same bytes in every attempt. */
    body: text('body').notNull(),
    state: enumColumn('state', DeliveryState, DeliveryStateSchema).notNull(),
    /** It counts the one that runs now too. */
    attemptCount: integer('attempt_count').notNull().default(0),
    attempts: jsonb('attempts').$type<readonly Attempt[]>().notNull().default([]),
    /** Null once it is over. The job of the delivery decides; this is what people see of it. */
    nextAttemptAt: instant('next_attempt_at'),
  },
  (t) => [
    uniqueIndex('webhook_deliveries_once').on(t.endpointId, t.eventId),
    index('webhook_deliveries_newest').on(t.endpointId, t.id),
    check('webhook_deliveries_due', sql`(${t.state} = 'pending') = (${t.nextAttemptAt} is not null)`),
  ],
);
