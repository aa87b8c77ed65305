import { sql } from 'drizzle-orm';
import { check, index, integer, jsonb, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { CiDeliveryState, CiDeliveryStateSchema } from '@svc/proto/gen/svc/ci/v1/ci_pb.ts';
import { bytes, id, instant } from '../../base/db/columns.ts';
import { enumColumn } from '../../kit/resource/team-table.ts';
import { ofConnection } from '../connections/schema.ts';

/** Deliveries as they came, and the queue of those that are to be read. Kept for 30 days. */
export const ciDeliveries = pgTable(
  'ci_deliveries',
  {
    id: id('id').primaryKey(),
    teamId: id('team_id').notNull(),
    connectionId: id('connection_id').notNull(),
    /** The provider's, or a digest of the body; the same one again is a repetition. */
    deliveryId: text('delivery_id').notNull(),
    event: text('event'),
    state: enumColumn('state', CiDeliveryState, CiDeliveryStateSchema).notNull(),
    detail: text('detail'),
    /** The outcome, in words. */
    changed: text('changed'),
    /**
     * Id of the run that it was about. No foreign key: runs of one connection may be joined into one, and the
     * row names that one then.
     */
    runId: id('run_id'),
    /** The body as it came: the signature is over it, and it is read again. */
    body: bytes('body').notNull(),
    /** Headers by which the body is read; never one that proves where it comes from. */
    headers: jsonb('headers').$type<Readonly<Record<string, string>>>().notNull(),
    repeats: integer('repeats').notNull().default(0),
    /** Count of the readings that were begun. */
    attempts: integer('attempts').notNull().default(0),
    /**
     * The time at which it is to be read; while it is read, the time at which its reader counts as dead. Null
     * once it is over.
     */
    dueAt: instant('due_at'),
    receivedAt: instant('received_at').notNull(),
    processedAt: instant('processed_at'),
  },
  (t) => [
    uniqueIndex('ci_deliveries_once').on(t.connectionId, t.deliveryId),
    index('ci_deliveries_newest').on(t.connectionId, t.id.desc()),
    index('ci_deliveries_due')
      .on(t.dueAt)
      .where(sql`${t.dueAt} is not null`),
    index('ci_deliveries_failed')
      .on(t.id)
      .where(sql`${t.state} = 'failed'`),
    check('ci_deliveries_state', sql`${t.state} in ('received', 'held', 'processed', 'ignored', 'failed')`),
    check('ci_deliveries_due', sql`(${t.dueAt} is not null) = (${t.state} = 'received')`),
    ofConnection(t, 'ci_deliveries_connection_fk'),
  ],
);
