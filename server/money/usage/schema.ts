import { sql } from 'drizzle-orm';
import { bigint, check, date, integer, pgTable, primaryKey } from 'drizzle-orm/pg-core';
import {
  ExecutedBy,
  ExecutedBySchema,
  WorkKind,
  WorkKindSchema,
} from '@svc/proto/gen/svc/usage/v1/usage_pb.ts';
import { id } from '../../platform/db/columns.ts';
import { teams } from '../../platform/resource/schema.ts';
import { enumColumn } from '../../platform/resource/team-table.ts';

/** Metered time, summed up by day: what a question about usage costs does not grow with the history. Written by the outbox alone. */
export const usageDays = pgTable(
  'usage_days',
  {
    teamId: id('team_id')
      .notNull()
      .references(() => teams.id, { onDelete: 'cascade' }),
    /** UTC day of the end. */
    day: date('day').notNull(),
    kind: enumColumn('kind', WorkKind, WorkKindSchema).notNull(),
    executedBy: enumColumn('executed_by', ExecutedBy, ExecutedBySchema).notNull(),
    count: integer('count').notNull(),
    meteredMs: bigint('metered_ms', { mode: 'number' }).notNull(),
    selfReportedMs: bigint('self_reported_ms', { mode: 'number' }).notNull(),
    selfReportedCount: integer('self_reported_count').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.teamId, t.day, t.kind, t.executedBy] }),
    check('usage_days_kind', sql`${t.kind} in ('run', 'build')`),
    check('usage_days_executed_by', sql`${t.executedBy} in ('runner', 'service')`),
  ],
);
