import { sql } from 'drizzle-orm';
import { check, index, integer, pgTable, primaryKey, text } from 'drizzle-orm/pg-core';
import { id, instant } from '../../base/db/columns.ts';
import { ofConnection } from '../connections/schema.ts';
import { ofRun } from '../runs/schema.ts';

/** Statuses of commits: one row for each pipeline of a commit. */
export const ciCommitStatuses = pgTable(
  'ci_commit_statuses',
  {
    teamId: id('team_id').notNull(),
    connectionId: id('connection_id').notNull(),
    sha: text('sha').notNull(),
    context: text('context').notNull(),
    /**
     * The newest run of the pipeline for this commit, whose state is posted; and the columns that make it the
     * newest.
     */
    runId: id('run_id').notNull(),
    runOccurredAt: instant('run_occurred_at').notNull(),
    runAttempt: integer('run_attempt').notNull(),
    /** The state that was posted last, and its run. */
    postedState: text('told_word'),
    postedRunId: id('told_run_id'),
    /** Count of the posts of a status. */
    posts: integer('posts').notNull().default(0),
  },
  (t) => [
    primaryKey({ columns: [t.connectionId, t.sha, t.context] }),
    index('ci_commit_statuses_run').on(t.runId),
    check('ci_commit_statuses_told', sql`(${t.postedState} is null) = (${t.postedRunId} is null)`),
    ofConnection(t, 'ci_commit_statuses_connection_fk'),
    ofRun(t, 'ci_commit_statuses_run_fk'),
  ],
);
