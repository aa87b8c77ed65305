import { sql } from 'drizzle-orm';
import { check, integer, jsonb, pgTable, text, uniqueIndex, date } from 'drizzle-orm/pg-core';
import {
  BillingTaskKind,
  BillingTaskKindSchema,
  BillingTaskState,
  BillingTaskStateSchema,
} from '@svc/proto/gen/svc/adminbilling/v1/adminbilling_pb.ts';
import { id, instant } from '../../base/db/columns.ts';
import type { AuditActor } from '../../kit/ledger/index.ts';
import { enumColumn } from '../../kit/resource/team-table.ts';

/** Long acts of staff, which a job does. At most one of a kind is at work. */
export const billingTasks = pgTable(
  'billing_tasks',
  {
    id: id('id').primaryKey(),
    kind: enumColumn('kind', BillingTaskKind, BillingTaskKindSchema).notNull(),
    state: enumColumn('state', BillingTaskState, BillingTaskStateSchema).notNull().default('running'),
    done: integer('done').notNull().default(0),
    total: integer('total').notNull().default(0),
    /** Oldest month without all of its statements when a closing began; null for other kinds. */
    since: date('since'),
    /** Result of the act; null until it has ended. */
    result: jsonb('result').$type<Readonly<Record<string, unknown>>>(),
    problem: text('problem'),
    /** Person who began the act. */
    actor: jsonb('actor').$type<AuditActor>().notNull(),
    requestId: text('request_id').notNull(),
    /** +1 with each attempt of its job: what an older one says of it changes nothing. */
    epoch: integer('epoch').notNull().default(0),
    /** Servers of before took a task when this had passed; they take none whose job somebody does. */
    dueAt: instant('due_at')
      .notNull()
      .default(sql`'infinity'`),
    createdAt: instant('created_at').notNull(),
    endedAt: instant('ended_at'),
  },
  (t) => [
    check('billing_tasks_kind', sql`${t.kind} in ('close', 'rehearse', 'reconcile')`),
    check('billing_tasks_state', sql`${t.state} in ('running', 'done', 'failed')`),
    uniqueIndex('billing_tasks_running')
      .on(t.kind)
      .where(sql`${t.state} = 'running'`),
  ],
);
