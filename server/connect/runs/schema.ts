/**
 * The tables hold runs and jobs. The truth about a run or a job is its `state`, a join of all events about it
 * (accept.ts); the columns beside it are made of that, written in the same statement, so that lists and the
 * timeline read plain columns through indexes.
 */
import { sql } from 'drizzle-orm';
import {
  bigint,
  boolean,
  check,
  foreignKey,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
  type AnyPgColumn,
} from 'drizzle-orm/pg-core';
import { environments } from '../../apps/environments/schema.ts';
import { id, instant } from '../../base/db/columns.ts';
import { oneOf, teamTable } from '../../kit/resource/team-table.ts';
import { ciConnections } from '../connections/schema.ts';
import { ciPipelines } from '../pipelines/schema.ts';
import { CI_STATUSES, type CiStatus } from '../providers/index.ts';
import type { CiState } from './accept.ts';

export const ciRuns = teamTable(
  {
    name: 'ci_runs',
    kind: 'CI run',
    prefix: 'cir',
    within: { connectionId: ciConnections, pipelineId: ciPipelines },
  },
  {
    connectionId: id('connection_id').notNull(),
    pipelineId: id('pipeline_id').notNull(),
    externalRunId: text('external_run_id').notNull(),
    externalAttempt: integer('external_attempt').notNull(),
    state: jsonb('state').$type<CiState>().notNull(),
    status: text('status').$type<CiStatus>().notNull(),
    providerStatus: text('provider_status'),
    providerConclusion: text('provider_conclusion'),
    blocked: boolean('blocked').notNull().default(false),
    soft: boolean('soft').notNull().default(false),
    reason: text('reason'),
    /** `unknown` because no report came for too long: the next report replaces it. */
    lost: boolean('lost').notNull().default(false),
    trigger: text('trigger'),
    commitSha: text('commit_sha'),
    branch: text('branch'),
    tag: text('tag'),
    /** It is true for a run of a merge queue; `branch` is the base that it is merged into. */
    mergeQueue: boolean('merge_queue').notNull().default(false),
    /**
     * The environment that its report names, or the oldest that builds its branch; others that do stand in
     * `ci_run_environments`.
     */
    environmentId: id('environment_id').references(() => environments.id, { onDelete: 'set null' }),
    externalUrl: text('external_url'),
    actor: text('actor'),
    queuedAt: instant('queued_at'),
    startedAt: instant('started_at'),
    finishedAt: instant('finished_at'),
    durationMs: bigint('duration_ms', { mode: 'number' }),
    /**
     * Its place in lists and in the timeline: when it began to wait or to run at its provider, never later
     * than it became known here.
     */
    occurredAt: instant('occurred_at').notNull(),
    /** The last report of it was received at this time, new or not. */
    heardAt: instant('heard_at').notNull(),
    /**
     * When its provider is asked for its status, should no report come until then; see health.ts. Null: it is
     * over.
     */
    pollAt: instant('poll_at'),
    updatedAt: instant('updated_at').notNull(),
  },
  (t) => [
    uniqueIndex('ci_runs_external').on(t.connectionId, t.externalRunId, t.externalAttempt),
    index('ci_runs_of_pipeline').on(t.pipelineId, t.occurredAt.desc(), t.id.desc()),
    index('ci_runs_of_environment')
      .on(t.environmentId, t.occurredAt.desc(), t.id.desc())
      .where(sql`${t.environmentId} is not null`),
    index('ci_runs_of_team').on(t.teamId, t.status, t.occurredAt.desc(), t.id.desc()),
    index('ci_runs_of_connection').on(t.connectionId, t.occurredAt.desc(), t.id.desc()),
    // The graph's way from a commit.
    index('ci_runs_of_commit')
      .on(t.teamId, t.commitSha, t.createdAt.desc(), t.id.desc())
      .where(sql`${t.commitSha} is not null`),
    // Rows that the reconciliation looks through.
    index('ci_runs_open')
      .on(t.heardAt)
      .where(sql`${t.status} in ('queued', 'running')`),
    index('ci_runs_poll')
      .on(t.pollAt)
      .where(sql`${t.pollAt} is not null`),
    check('ci_runs_status', oneOf(t.status, CI_STATUSES)),
    check('ci_runs_attempt', sql`${t.externalAttempt} >= 1`),
    check('ci_runs_lost', sql`not ${t.lost} or ${t.status} = 'unknown'`),
  ],
);

/** The row belongs to a run of the same team, and goes with it. */
export const ofRun = (t: { readonly teamId: AnyPgColumn; readonly runId: AnyPgColumn }, name: string) =>
  foreignKey({
    columns: [t.teamId, t.runId],
    foreignColumns: [ciRuns.teamId, ciRuns.id],
    name,
  }).onDelete('cascade');

/** The environments that a run stands in beside its own: each that builds its branch. */
export const ciRunEnvironments = pgTable(
  'ci_run_environments',
  {
    teamId: id('team_id').notNull(),
    runId: id('run_id').notNull(),
    environmentId: id('environment_id')
      .notNull()
      .references(() => environments.id, { onDelete: 'cascade' }),
    /** It is that of the run, so that the timeline finds the newest through one index. */
    occurredAt: instant('occurred_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.runId, t.environmentId] }),
    index('ci_run_environments_newest').on(t.environmentId, t.occurredAt.desc(), t.runId.desc()),
    ofRun(t, 'ci_run_environments_run_fk'),
  ],
);

export const ciJobs = pgTable(
  'ci_jobs',
  {
    id: id('id').primaryKey(),
    teamId: id('team_id').notNull(),
    runId: id('run_id').notNull(),
    /** External id, or name and index; see record-jobs.ts. */
    key: text('key').notNull(),
    externalJobId: text('external_job_id'),
    name: text('name').notNull(),
    index: integer('index').notNull().default(0),
    state: jsonb('state').$type<CiState>().notNull(),
    /** The status as reported; `status` differs from it when the run ended and the job had not. */
    ownStatus: text('own_status', { enum: CI_STATUSES }).notNull(),
    status: text('status', { enum: CI_STATUSES }).notNull(),
    providerStatus: text('provider_status'),
    providerConclusion: text('provider_conclusion'),
    blocked: boolean('blocked').notNull().default(false),
    soft: boolean('soft').notNull().default(false),
    reason: text('reason'),
    stage: text('stage'),
    externalUrl: text('external_url'),
    startedAt: instant('started_at'),
    finishedAt: instant('finished_at'),
    durationMs: bigint('duration_ms', { mode: 'number' }),
    createdAt: instant('created_at').notNull(),
  },
  (t) => [
    uniqueIndex('ci_jobs_key').on(t.runId, t.key),
    index('ci_jobs_order').on(t.runId, t.id),
    check('ci_jobs_status', sql`${oneOf(t.status, CI_STATUSES)} and ${oneOf(t.ownStatus, CI_STATUSES)}`),
    ofRun(t, 'ci_jobs_run_fk'),
  ],
);

/**
 * Other names that a provider has for the same run: Drone's number beside its id, Bitbucket's number beside
 * its UUID.
 */
export const ciRunAliases = pgTable(
  'ci_run_aliases',
  {
    connectionId: id('connection_id')
      .notNull()
      .references(() => ciConnections.id, { onDelete: 'cascade' }),
    alias: text('alias').notNull(),
    externalRunId: text('external_run_id').notNull(),
  },
  (t) => [primaryKey({ columns: [t.connectionId, t.alias] })],
);

/** Runs that turned out to be another one, by their old ids: whoever was given such an id goes on with it. */
export const ciRunJoins = pgTable(
  'ci_run_joins',
  {
    id: id('id').primaryKey(),
    runId: id('run_id')
      .notNull()
      .references(() => ciRuns.id, { onDelete: 'cascade' }),
  },
  (t) => [index('ci_run_joins_run').on(t.runId)],
);
