import { sql } from 'drizzle-orm';
import { boolean, check, index, integer, jsonb, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { DiscoveryState, DiscoveryStateSchema } from '@svc/proto/gen/svc/ci/v1/ci_pb.ts';
import { id, instant } from '../../base/db/columns.ts';
import { enumWords, oneOf } from '../../kit/resource/team-table.ts';
import { ofConnection } from '../connections/schema.ts';
import type { FoundPipeline, FoundProblem } from '../providers/index.ts';

const STATES = enumWords(DiscoveryState, DiscoveryStateSchema);

/**
 * Searches for CI definitions. One at a time is open in a connection, and the last few that ended are kept.
 */
export const ciDiscoveries = pgTable(
  'ci_discoveries',
  {
    id: id('id').primaryKey(),
    teamId: id('team_id').notNull(),
    connectionId: id('connection_id').notNull(),
    state: text('state', { enum: STATES }).notNull(),
    branch: text('branch').notNull(),
    commitSha: text('commit_sha'),
    /** Count of the entries that were listed. */
    scanned: integer('scanned').notNull().default(0),
    truncated: boolean('truncated').notNull().default(false),
    incompleteReason: text('incomplete_reason'),
    /** `<code>: <sentence>`, while `state` is `failed`. */
    error: text('error'),
    pipelines: jsonb('pipelines').$type<readonly FoundPipeline[]>().notNull().default([]),
    problems: jsonb('problems').$type<readonly FoundProblem[]>().notNull().default([]),
    /**
     * Files that were read, so that the next search need not read the same again. Pipelines and problems
     * belong to a file by their paths.
     */
    files: jsonb('files')
      .$type<ReadonlyArray<{ readonly path: string; readonly key: string }>>()
      .notNull()
      .default([]),
    requestedAt: instant('requested_at').notNull(),
    finishedAt: instant('finished_at'),
  },
  (t) => [
    index('ci_discoveries_latest').on(t.connectionId, t.requestedAt.desc(), t.id.desc()),
    uniqueIndex('ci_discoveries_open')
      .on(t.connectionId)
      .where(sql`${t.state} in ('queued', 'running')`),
    check('ci_discoveries_state', oneOf(t.state, STATES)),
    check('ci_discoveries_finished', sql`(${t.finishedAt} is null) = (${t.state} in ('queued', 'running'))`),
    check('ci_discoveries_error', sql`(${t.error} is null) = (${t.state} <> 'failed')`),
    ofConnection(t, 'ci_discoveries_connection_fk'),
  ],
);
