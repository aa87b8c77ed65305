/**
 * Connect. The truth about a run or a job is its `state`, a join of all events about it (accept.ts); the columns beside it are made of
 * that, written in the same statement, so that lists and the timeline read plain columns through indexes.
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
} from 'drizzle-orm/pg-core';
import { environments } from '../../apps/environments/schema.ts';
import { id, instant } from '../../base/db/columns.ts';
import { projects } from '../../apps/projects/schema.ts';
import { teams } from '../../kit/resource/schema.ts';
import type { GenericMapping, OidcPolicy } from './model/connection.ts';

const STATUS = ['queued', 'running', 'success', 'failed', 'cancelled', 'unknown'] as const;
const STATUSES = sql.raw(STATUS.map((status) => `'${status}'`).join(', '));

export const ciConnections = pgTable(
  'ci_connections',
  {
    id: id('id').primaryKey(),
    teamId: id('team_id')
      .notNull()
      .references(() => teams.id, { onDelete: 'cascade' }),
    provider: text('provider').notNull(),
    repositoryHost: text('repository_host').notNull(),
    repositoryPath: text('repository_path').notNull(),
    /** Host and path in the one spelling that they are compared in; see repository.ts. */
    repositoryKey: text('repository_key').notNull(),
    projectId: id('project_id').references(() => projects.id, { onDelete: 'set null' }),
    defaultBranch: text('default_branch').notNull(),
    ingestMode: text('ingest_mode', { enum: ['direct', 'webhook', 'both'] }).notNull(),
    status: text('status', { enum: ['active', 'paused', 'error'] }).notNull(),
    /** The problem, while `status` is `error`. */
    statusDetail: text('status_detail'),
    /** Kind of the repository's host, set where neither host nor provider decides it; see forges/forge.ts. */
    forge: text('forge', { enum: ['github', 'gitlab', 'bitbucket', 'azure'] }),
    apiUrl: text('api_url'),
    /** Sealed for `ci_connections.token:<id>`. */
    token: text('token'),
    commitStatusMode: text('commit_status_mode', { enum: ['auto', 'always', 'never'] })
      .notNull()
      .default('auto'),
    /** The message with which the repository's host refused statuses of commits; see commit-status/. */
    commitStatusDetail: text('commit_status_detail'),
    /** It refused them altogether: nothing more is posted until token or mode are set anew. */
    commitStatusStopped: boolean('commit_status_stopped').notNull().default(false),
    /** The repository's host asked to be left alone until then. */
    quietUntil: instant('quiet_until'),
    oidcIssuer: text('oidc_issuer'),
    oidcRepositoryId: text('oidc_repository_id'),
    oidcOwnerId: text('oidc_owner_id'),
    oidcPinnedAt: instant('oidc_pinned_at'),
    /** The path in the latest id_token; see oidc/pin.ts. */
    oidcRepositoryPath: text('oidc_repository_path'),
    oidcPolicy: jsonb('oidc_policy').$type<OidcPolicy>(),
    genericMapping: jsonb('generic_mapping').$type<GenericMapping>(),
    createdAt: instant('created_at').notNull(),
    updatedAt: instant('updated_at').notNull(),
  },
  (t) => [
    uniqueIndex('ci_connections_team_id').on(t.teamId, t.id),
    uniqueIndex('ci_connections_repository').on(t.teamId, t.provider, t.repositoryKey),
    index('ci_connections_newest').on(t.teamId, t.createdAt.desc(), t.id.desc()),
    index('ci_connections_project').on(t.projectId),
    // Unique over all teams: a repository's jobs report to one connection. Partial, so that pinning locks no key and waits for none of the connection's runs.
    uniqueIndex('ci_connections_oidc')
      .on(t.oidcIssuer, t.oidcRepositoryId)
      .where(sql`${t.oidcIssuer} is not null`),
    check(
      'ci_connections_provider',
      sql`${t.provider} in ('github', 'gitlab', 'bitbucket', 'jenkins', 'circleci', 'buildkite', 'drone', 'azure', 'generic')`,
    ),
    check('ci_connections_ingest_mode', sql`${t.ingestMode} in ('direct', 'webhook', 'both')`),
    check('ci_connections_status', sql`${t.status} in ('active', 'paused', 'error')`),
    check('ci_connections_forge', sql`${t.forge} in ('github', 'gitlab', 'bitbucket', 'azure')`),
    check('ci_connections_commit_status', sql`${t.commitStatusMode} in ('auto', 'always', 'never')`),
    check(
      'ci_connections_oidc_pin',
      sql`(${t.oidcIssuer} is null) = (${t.oidcRepositoryId} is null) and (${t.oidcIssuer} is null) = (${t.oidcPinnedAt} is null)`,
    ),
  ],
);

export const ciPipelines = pgTable(
  'ci_pipelines',
  {
    id: id('id').primaryKey(),
    teamId: id('team_id').notNull(),
    connectionId: id('connection_id').notNull(),
    name: text('name').notNull(),
    /** File that defines it; empty: not known. */
    path: text('path').notNull().default(''),
    jobs: jsonb('jobs').$type<readonly string[]>().notNull().default([]),
    triggers: jsonb('triggers').$type<readonly string[]>().notNull().default([]),
    deployDetected: boolean('deploy_detected').notNull().default(false),
    /** The latest discovery found its definition. */
    defined: boolean('defined').notNull().default(false),
    createdAt: instant('created_at').notNull(),
  },
  (t) => [
    uniqueIndex('ci_pipelines_team_id').on(t.teamId, t.id),
    uniqueIndex('ci_pipelines_name').on(t.connectionId, t.name, t.path),
    foreignKey({
      columns: [t.teamId, t.connectionId],
      foreignColumns: [ciConnections.teamId, ciConnections.id],
      name: 'ci_pipelines_connection_fk',
    }).onDelete('cascade'),
  ],
);

export const ciRuns = pgTable(
  'ci_runs',
  {
    id: id('id').primaryKey(),
    teamId: id('team_id').notNull(),
    connectionId: id('connection_id').notNull(),
    pipelineId: id('pipeline_id').notNull(),
    externalRunId: text('external_run_id').notNull(),
    externalAttempt: integer('external_attempt').notNull(),
    state: jsonb('state').$type<Record<string, unknown>>().notNull(),
    status: text('status', { enum: STATUS }).notNull(),
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
    /** Of a merge queue; `branch` is the base that it is merged into. */
    mergeQueue: boolean('merge_queue').notNull().default(false),
    /** The environment that its report names, or the oldest that builds its branch; others that do stand in `ci_run_environments`. */
    environmentId: id('environment_id').references(() => environments.id, { onDelete: 'set null' }),
    externalUrl: text('external_url'),
    actor: text('actor'),
    queuedAt: instant('queued_at'),
    startedAt: instant('started_at'),
    finishedAt: instant('finished_at'),
    durationMs: bigint('duration_ms', { mode: 'number' }),
    /** Its place in lists and in the timeline: when it began to wait or to run at its provider, never later than it became known here. */
    occurredAt: instant('occurred_at').notNull(),
    /** When the last report of it was received, new or not. */
    heardAt: instant('heard_at').notNull(),
    /** When its provider is asked for its status, should no report come until then; see health.ts. Null: it is over. */
    pollAt: instant('poll_at'),
    createdAt: instant('created_at').notNull(),
    updatedAt: instant('updated_at').notNull(),
  },
  (t) => [
    uniqueIndex('ci_runs_team_id').on(t.teamId, t.id),
    uniqueIndex('ci_runs_external').on(t.connectionId, t.externalRunId, t.externalAttempt),
    index('ci_runs_of_pipeline').on(t.pipelineId, t.occurredAt.desc(), t.id.desc()),
    index('ci_runs_of_environment')
      .on(t.environmentId, t.occurredAt.desc(), t.id.desc())
      .where(sql`${t.environmentId} is not null`),
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
    check('ci_runs_status', sql`${t.status} in (${STATUSES})`),
    check('ci_runs_attempt', sql`${t.externalAttempt} >= 1`),
    check('ci_runs_lost', sql`not ${t.lost} or ${t.status} = 'unknown'`),
    foreignKey({
      columns: [t.teamId, t.connectionId],
      foreignColumns: [ciConnections.teamId, ciConnections.id],
      name: 'ci_runs_connection_fk',
    }).onDelete('cascade'),
    foreignKey({
      columns: [t.teamId, t.pipelineId],
      foreignColumns: [ciPipelines.teamId, ciPipelines.id],
      name: 'ci_runs_pipeline_fk',
    }).onDelete('cascade'),
  ],
);

/** The environments that a run stands in beside its own: each that builds its branch. */
export const ciRunEnvironments = pgTable(
  'ci_run_environments',
  {
    teamId: id('team_id').notNull(),
    runId: id('run_id').notNull(),
    environmentId: id('environment_id')
      .notNull()
      .references(() => environments.id, { onDelete: 'cascade' }),
    /** That of the run, so that the timeline finds the newest through one index. */
    occurredAt: instant('occurred_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.runId, t.environmentId] }),
    index('ci_run_environments_newest').on(t.environmentId, t.occurredAt.desc(), t.runId.desc()),
    foreignKey({
      columns: [t.teamId, t.runId],
      foreignColumns: [ciRuns.teamId, ciRuns.id],
      name: 'ci_run_environments_run_fk',
    }).onDelete('cascade'),
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
    state: jsonb('state').$type<Record<string, unknown>>().notNull(),
    /** The status as reported; `status` differs from it when the run ended and the job had not. */
    ownStatus: text('own_status', { enum: STATUS }).notNull(),
    status: text('status', { enum: STATUS }).notNull(),
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
    check('ci_jobs_status', sql`${t.status} in (${STATUSES}) and ${t.ownStatus} in (${STATUSES})`),
    foreignKey({
      columns: [t.teamId, t.runId],
      foreignColumns: [ciRuns.teamId, ciRuns.id],
      name: 'ci_jobs_run_fk',
    }).onDelete('cascade'),
  ],
);

/** Other names that a provider has for the same run: Drone's number beside its id, Bitbucket's number beside its UUID. */
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
