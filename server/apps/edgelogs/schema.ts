/**
 * What reverse proxies of machines have logged, as their runners tell it: of each environment a ring of lines
 * for each of the two logs, and counters by minute.
 */
import { sql } from 'drizzle-orm';
import {
  bigint,
  check,
  foreignKey,
  index,
  integer,
  json,
  pgTable,
  primaryKey,
  text,
} from 'drizzle-orm/pg-core';
import { id, instant } from '../../base/db/columns.ts';
import { oneOf } from '../../kit/resource/team-table.ts';
import { environments } from '../environments/schema.ts';

const KINDS = ['access', 'error'] as const;
export type LogKind = (typeof KINDS)[number];

/** A line as it is stored: NginxLogLine of the contract in JSON. */
export interface StoredLine {
  /** RFC 3339. */
  readonly at: string;
  readonly [field: string]: string | number;
}

/** Counts what came of a log, whatever of it is still there. The row lives as long as its environment. */
export const edgeLogs = pgTable(
  'edge_logs',
  {
    environmentId: id('environment_id').notNull(),
    kind: text('kind', { enum: KINDS }).notNull(),
    teamId: id('team_id').notNull(),
    /** The runner told last, under this number. */
    runnerId: id('runner_id').notNull(),
    seq: bigint('seq', { mode: 'number' }).notNull(),
    lines: bigint('lines', { mode: 'number' }).notNull(),
    bytes: bigint('bytes', { mode: 'number' }).notNull(),
    /** Lines that were left out since the last one that came: the next segment says it. */
    dropped: bigint('dropped', { mode: 'number' }).notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.environmentId, t.kind] }),
    check('edge_logs_kind', oneOf(t.kind, KINDS)),
    foreignKey({
      columns: [t.teamId, t.environmentId],
      foreignColumns: [environments.teamId, environments.id],
      name: 'edge_logs_environment_fk',
    }).onDelete('cascade'),
  ],
);

/** The lines of one call. */
export const edgeLogSegments = pgTable(
  'edge_log_segments',
  {
    environmentId: id('environment_id').notNull(),
    kind: text('kind', { enum: KINDS }).notNull(),
    /** Lines of the log before the first one of these. */
    position: bigint('position', { mode: 'number' }).notNull(),
    count: integer('count').notNull(),
    /** Bytes of the log up to the end of these. */
    bytesUntil: bigint('bytes_until', { mode: 'number' }).notNull(),
    /** Lines that were left out before the last one of these. */
    dropped: bigint('dropped', { mode: 'number' }).notNull(),
    lines: json('lines').$type<readonly StoredLine[]>().notNull(),
    at: instant('at')
      .notNull()
      .default(sql`clock_timestamp()`),
  },
  (t) => [
    primaryKey({ columns: [t.environmentId, t.kind, t.position] }),
    foreignKey({
      columns: [t.environmentId, t.kind],
      foreignColumns: [edgeLogs.environmentId, edgeLogs.kind],
      name: 'edge_log_segments_log_fk',
    }).onDelete('cascade'),
    index('edge_log_segments_old').on(t.at),
  ],
);

export const edgeMinutes = pgTable(
  'edge_minutes',
  {
    environmentId: id('environment_id').notNull(),
    minute: instant('minute').notNull(),
    teamId: id('team_id').notNull(),
    requests: bigint('requests', { mode: 'number' }).notNull(),
    s2xx: bigint('s2xx', { mode: 'number' }).notNull(),
    s3xx: bigint('s3xx', { mode: 'number' }).notNull(),
    s4xx: bigint('s4xx', { mode: 'number' }).notNull(),
    s5xx: bigint('s5xx', { mode: 'number' }).notNull(),
    p50Ms: bigint('p50_ms', { mode: 'number' }).notNull(),
    p95Ms: bigint('p95_ms', { mode: 'number' }).notNull(),
    bytes: bigint('bytes', { mode: 'number' }).notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.environmentId, t.minute] }),
    foreignKey({
      columns: [t.teamId, t.environmentId],
      foreignColumns: [environments.teamId, environments.id],
      name: 'edge_minutes_environment_fk',
    }).onDelete('cascade'),
    index('edge_minutes_old').on(t.minute),
  ],
);
