/**
 * Work: sandbox runs and builds as the dispatcher sees them. One row is the only truth about one item; the
 * states and what may follow what are in work/words.ts. The constraints below make an impossible row
 * impossible to write.
 */
import { sql } from 'drizzle-orm';
import {
  bigint,
  bigserial,
  boolean,
  check,
  date,
  doublePrecision,
  foreignKey,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  smallint,
  text,
  uniqueIndex,
  type AnyPgColumn,
} from 'drizzle-orm/pg-core';
import { builds } from '../builds/schema.ts';
import { bytes, id, instant } from '../../base/db/columns.ts';
import { teams } from '../../kit/resource/schema.ts';

/** An item is for runners of the group that have all of the labels. An empty selector is for any. */
export interface Selector {
  readonly group?: string;
  readonly labels?: Readonly<Record<string, string>>;
}

export const workItems = pgTable(
  'work_items',
  {
    id: id('id').primaryKey(),
    teamId: id('team_id')
      .notNull()
      .references(() => teams.id, { onDelete: 'cascade' }),
    kind: text('kind', { enum: ['run', 'build'] }).notNull(),
    /** Team whose runners execute it: its own, or the service's pool. */
    poolId: id('pool_id').notNull(),
    state: text('state', {
      enum: ['queued', 'offered', 'running', 'succeeded', 'failed', 'cancelled', 'dead'],
    }).notNull(),
    priority: smallint('priority').notNull().default(0),
    /** The task to execute; each kind has its own shape. */
    spec: jsonb('spec').$type<Record<string, unknown>>().notNull(),
    labels: jsonb('labels').$type<Record<string, string>>().notNull().default({}),
    /** The runners of the pool that may have it, as it was asked for; see routes.ts. */
    selector: jsonb('selector').$type<Selector>().notNull().default({}),
    /**
     * The route of pool, kind and selector. Not a foreign key: every submission would lock the route's row.
     * routes.ts says why it cannot dangle.
     */
    routeId: bigint('route_id', { mode: 'number' }),
    /** Only runners that offer containers may take it. */
    needsContainer: boolean('needs_container').notNull().default(false),
    /** Fencing token: +1 at every grant, checked in every write, never reset. */
    epoch: integer('epoch').notNull().default(0),
    attempt: integer('attempt').notNull().default(0),
    maxAttempts: integer('max_attempts').notNull().default(5),
    /** Grants, answered or not; bounds offers that nobody answers. */
    offers: integer('offers').notNull().default(0),
    runnerId: id('runner_id'),
    leaseId: text('lease_id'),
    pollId: text('poll_id'),
    /** No runner gets it before. */
    runAfter: instant('run_after').notNull(),
    /** One that no runner has begun by then ends. Null: it waits for as long as it takes. */
    queueExpiresAt: instant('queue_expires_at'),
    /** As it was asked for. */
    queueTimeoutSeconds: integer('queue_timeout_seconds'),
    hintDueAt: instant('hint_due_at').notNull(),
    hintCount: integer('hint_count').notNull().default(0),
    cancelRequestedAt: instant('cancel_requested_at'),
    createdBy: id('created_by').notNull(),
    /**
     * The agent that submitted it, its key and its approval. None is a foreign key, like the account: they
     * may go, and what they did stays.
     */
    agentId: id('agent_id'),
    agentKeyId: id('agent_key_id'),
    approvalId: id('approval_id'),
    createdAt: instant('created_at').notNull(),
    claimedAt: instant('claimed_at'),
    startedAt: instant('started_at'),
    /**
     * Wall-clock limit of one attempt; the lease is never renewed past `deadline_at`, which is set when the
     * attempt begins.
     */
    timeoutMs: integer('timeout_ms').notNull().default(86_400_000),
    deadlineAt: instant('deadline_at'),
    finishedAt: instant('finished_at'),
    /** Builds only. */
    buildId: id('build_id'),
    /**
     * Builds only: the furthest phase that the holder reported, 1 to 4 as in work/words.ts; 0 before. Begins
     * anew with each grant.
     */
    phase: smallint('phase').notNull().default(0),
    reason: text('reason'),
    exitCode: integer('exit_code'),
    message: text('message'),
    meteredMs: integer('metered_ms'),
    selfReportedMs: integer('self_reported_ms'),
    /** Bytes of output of the current epoch that were acknowledged; the next append must start here. */
    logOffset: bigint('log_offset', { mode: 'number' }).notNull().default(0),
    /** Bytes of it that are stored: fewer once the limit cut them off. */
    logBytes: integer('log_bytes').notNull().default(0),
    logLimit: integer('log_limit').notNull().default(16_777_216),
    logTruncated: boolean('log_truncated').notNull().default(false),
    /** Length and digest of the output were checked. */
    logComplete: boolean('log_complete').notNull().default(false),
    /**
     * The stored output did not match the length and digest that its runner announced, and sending it again
     * did not help.
     */
    logMismatch: boolean('log_mismatch').notNull().default(false),
    /**
     * SHA-256 of the stored output, kept so that nobody reads it again; empty until it is known. Not null:
     * the end was announced, nothing is stored behind it.
     */
    logSha256: bytes('log_sha256'),
    /**
     * Bytes of output of the current epoch that were lost on the runner's machine; they count in no offset.
     */
    logMissing: bigint('log_missing', { mode: 'number' }).notNull().default(0),
    /**
     * UTC day of the first stored output, of any epoch: all of it lies in that day's partition of work_logs.
     */
    logDay: date('log_day'),
  },
  (t) => [
    check('work_items_kind', sql`${t.kind} in ('run', 'build')`),
    check(
      'work_items_state',
      sql`${t.state} in ('queued', 'offered', 'running', 'succeeded', 'failed', 'cancelled', 'dead')`,
    ),
    check('work_items_lease', sql`(${t.state} in ('offered', 'running')) = (${t.leaseId} is not null)`),
    check(
      'work_items_finished',
      sql`(${t.state} in ('succeeded', 'failed', 'cancelled', 'dead')) = (${t.finishedAt} is not null)`,
    ),
    check(
      'work_items_routed',
      sql`${t.routeId} is not null or ${t.state} in ('succeeded', 'failed', 'cancelled', 'dead')`,
    ),
    check('work_items_build', sql`(${t.kind} = 'build') = (${t.buildId} is not null)`),
    foreignKey({
      columns: [t.teamId, t.buildId],
      foreignColumns: [builds.teamId, builds.id],
      name: 'work_items_build_fk',
    }).onDelete('cascade'),
    index('work_items_of_build')
      .on(t.buildId)
      .where(sql`${t.buildId} is not null`),
    uniqueIndex('work_items_team_id').on(t.teamId, t.id),
    index('work_items_newest').on(t.teamId, t.kind, t.createdAt.desc(), t.id.desc()),
    // It finds what a runner may have of a route, team by team: the only index that a claim walks, and by the
    // routes of its pool all that waits of a team.
    index('work_items_route')
      .on(t.routeId, t.teamId, t.priority.desc(), t.id)
      .where(sql`${t.state} = 'queued'`),
    index('work_items_hint')
      .on(t.hintDueAt)
      .where(sql`${t.state} = 'queued'`),
    // It holds those alone that may not wait for ever.
    index('work_items_queue_expiry')
      .on(t.queueExpiresAt)
      .where(sql`${t.state} = 'queued' and ${t.attempt} = 0 and ${t.queueExpiresAt} is not null`),
    // It finds what runners hold of a team, for its limit. Held items have an offer, so "offers > 0" says
    // nothing new: it keeps the index from statements that do not name it, which the planner would lead
    // through here while nothing is held.
    index('work_items_held')
      .on(t.teamId, t.kind)
      .where(sql`${t.leaseId} is not null and ${t.offers} > 0`),
    // They find what an agent submitted, and what of that is open. Only items of agents are in here.
    index('work_items_agent')
      .on(t.teamId, t.agentId, t.createdAt.desc(), t.id.desc())
      .where(sql`${t.agentId} is not null`),
    index('work_items_agent_open')
      .on(t.agentId)
      .where(sql`${t.agentId} is not null and ${t.finishedAt} is null`),
    // Labels that the graph follows; only runs that carry them are in here.
    index('work_items_environment')
      .on(t.teamId, sql`(${t.labels} ->> 'environment')`, t.createdAt.desc(), t.id.desc())
      .where(sql`${t.labels} ? 'environment'`),
    index('work_items_commit')
      .on(t.teamId, sql`(${t.labels} ->> 'commit')`, t.createdAt.desc(), t.id.desc())
      .where(sql`${t.labels} ? 'commit'`),
    // One poll holds one offer: the same poll id asks again and gets the same.
    uniqueIndex('work_items_poll')
      .on(t.runnerId, t.pollId)
      .where(sql`${t.leaseId} is not null`),
  ],
);

/** The row belongs to an item of the same team, and goes with it. */
const ofItem = (t: { readonly teamId: AnyPgColumn; readonly workId: AnyPgColumn }, name: string) =>
  foreignKey({
    columns: [t.teamId, t.workId],
    foreignColumns: [workItems.teamId, workItems.id],
    name,
  }).onDelete('cascade');

export type WorkItem = typeof workItems.$inferSelect;

/**
 * A pool, a kind and a selector: what is queued under one of them may be had by the same runners. Every pool
 * and kind has that of the empty selector.
 */
export const workRoutes = pgTable(
  'work_routes',
  {
    id: bigserial('id', { mode: 'number' }).primaryKey(),
    poolId: id('pool_id')
      .notNull()
      .references(() => teams.id, { onDelete: 'cascade' }),
    kind: text('kind', { enum: ['run', 'build'] }).notNull(),
    selector: jsonb('selector').$type<Selector>().notNull(),
    /** It is a digest of the selector, whose text may be longer than a row of an index. */
    hash: text('hash')
      .notNull()
      .generatedAlwaysAs(sql`md5(selector::text)`),
    /**
     * It is kept to the hour. One that nothing was submitted to for longer, and that nothing is queued or
     * held under, is removed.
     */
    usedAt: instant('used_at').notNull(),
  },
  (t) => [
    check('work_routes_kind', sql`${t.kind} in ('run', 'build')`),
    uniqueIndex('work_routes_selector').on(t.poolId, t.kind, t.hash),
  ],
);

/**
 * Whose turn it is in a pool that serves several teams: the one with the least `vtime` of those that wait.
 * See turns.ts.
 */
export const poolTurns = pgTable(
  'pool_turns',
  {
    poolId: id('pool_id')
      .notNull()
      .references(() => teams.id, { onDelete: 'cascade' }),
    kind: text('kind', { enum: ['run', 'build'] }).notNull(),
    teamId: id('team_id')
      .notNull()
      .references(() => teams.id, { onDelete: 'cascade' }),
    /** Items that the team was given, by its weight. */
    vtime: doublePrecision('vtime').notNull().default(0),
    weight: smallint('weight').notNull().default(1),
    /** Something of it is queued. */
    waiting: boolean('waiting').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.poolId, t.kind, t.teamId] }),
    check('pool_turns_kind', sql`${t.kind} in ('run', 'build')`),
    check('pool_turns_weight', sql`${t.weight} between 1 and 100`),
    index('pool_turns_next')
      .on(t.poolId, t.kind, t.vtime, t.teamId)
      .where(sql`${t.waiting}`),
  ],
);

export const workLeases = pgTable(
  'work_leases',
  {
    workId: id('work_id').notNull(),
    teamId: id('team_id').notNull(),
    epoch: integer('epoch').notNull(),
    runnerId: id('runner_id').notNull(),
    grantedAt: instant('granted_at').notNull(),
    /**
     * The column is in no index, so that a renewal writes this narrow row and nothing else; the sweeper reads
     * those that are open.
     */
    expiresAt: instant('expires_at').notNull(),
    /** First heartbeat that named it. */
    startedAt: instant('started_at'),
    /** Last heartbeat or log append; metering and divergence look at the gap. */
    lastContactAt: instant('last_contact_at').notNull(),
    /** Longest time without contact so far, in milliseconds. */
    contactGapMs: integer('contact_gap_ms').notNull().default(0),
    endedAt: instant('ended_at'),
    /** `reported`, `expired`, `revoked`. */
    endReason: text('end_reason'),
  },
  (t) => [
    primaryKey({ columns: [t.workId, t.epoch] }),
    // The database itself forbids two open leases of one item.
    uniqueIndex('work_leases_one_open')
      .on(t.workId)
      .where(sql`${t.endedAt} is null`),
    // A runner's history. Ended ones alone, so that a grant and the heartbeats after it do not pay for it.
    index('work_leases_history')
      .on(t.runnerId, t.grantedAt.desc(), t.workId.desc())
      .where(sql`${t.endedAt} is not null`),
    ofItem(t, 'work_leases_item_fk'),
  ],
);

/** Time at which the control plane received each phase of a build: one row a grant and phase. */
export const buildPhases = pgTable(
  'build_phases',
  {
    workId: id('work_id').notNull(),
    teamId: id('team_id').notNull(),
    epoch: integer('epoch').notNull(),
    phase: smallint('phase').notNull(),
    startedAt: instant('started_at').notNull(),
    /**
     * Bytes of output before it, as its runner says: what the order of phases and output goes by, for times
     * do not tell apart what is close.
     */
    logOffset: bigint('log_offset', { mode: 'number' }).notNull().default(0),
    finishedAt: instant('finished_at'),
    selfReportedMs: integer('self_reported_ms'),
  },
  (t) => [primaryKey({ columns: [t.workId, t.epoch, t.phase] }), ofItem(t, 'build_phases_item_fk')],
);

export const workReports = pgTable(
  'work_reports',
  {
    workId: id('work_id').primaryKey(),
    teamId: id('team_id').notNull(),
    epoch: integer('epoch').notNull(),
    reportId: text('report_id').notNull(),
    outcome: text('outcome').notNull(),
    /** SHA-256 over the canonical report: the same id with other content is a conflict. */
    digest: bytes('digest').notNull(),
    acceptedAt: instant('accepted_at').notNull(),
  },
  (t) => [ofItem(t, 'work_reports_item_fk')],
);

/**
 * Stored output: one segment per append, found by (day, work, epoch, offset). Partitioned by day (migration
 * of the same name): old output is dropped by the partition, see log-retention.ts.
 */
export const workLogs = pgTable(
  'work_logs',
  {
    workId: id('work_id').notNull(),
    teamId: id('team_id').notNull(),
    /** The item's `log_day`. */
    day: date('day').notNull(),
    epoch: integer('epoch').notNull(),
    /** Byte offset of the first byte in the output of the epoch. */
    offset: integer('offset').notNull(),
    /** The data is made of these, in pairs of stream and length; see log-runs.ts. */
    runs: integer('runs').array().notNull(),
    data: bytes('data').notNull(),
    at: instant('at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.workId, t.epoch, t.offset, t.day] }), ofItem(t, 'work_logs_item_fk')],
);
