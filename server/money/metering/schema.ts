/**
 * Money is computed from these tables. No table refers to another: what a team used outlives the team, its
 * environments and its runners, and each event would lock the row of its price.
 */
import { sql } from 'drizzle-orm';
import {
  bigint,
  boolean,
  check,
  date,
  index,
  integer,
  numeric,
  pgTable,
  primaryKey,
  text,
  unique,
} from 'drizzle-orm/pg-core';
import {
  ExecutedBy,
  ExecutedBySchema,
  WorkKind,
  WorkKindSchema,
} from '@svc/proto/gen/svc/usage/v1/usage_pb.ts';
import { id, instant } from '../../base/db/columns.ts';
import { enumColumn } from '../../kit/resource/team-table.ts';

/** Kind of work and executor. */
export const METERS = ['run.runner', 'run.service', 'build.runner', 'build.service'] as const;
const isMeter = sql.raw(`meter in (${METERS.map((meter) => `'${meter}'`).join(', ')})`);
const meterColumn = () => text('meter', { enum: METERS });

/**
 * Append-only by a trigger. In force for work is the one with the greatest `fromAt` that is not after its
 * claim.
 */
export const prices = pgTable(
  'prices',
  {
    id: id('id').primaryKey(),
    meter: meterColumn().notNull(),
    /** ISO 4217, in lower case. */
    currency: text('currency').notNull(),
    /** Billionths of the currency's major unit for a second: times milliseconds they are whole pico-units. */
    nanosPerSecond: integer('nanos_per_second').notNull(),
    fromAt: instant('from_at').notNull(),
    /** True for the first price of an installation, which nobody published. */
    isDefault: boolean('is_default').notNull().default(false),
    createdAt: instant('created_at')
      .notNull()
      .default(sql`now()`),
  },
  (t) => [
    unique('prices_in_force').on(t.meter, t.currency, t.fromAt),
    check('prices_meter', isMeter),
    check('prices_currency', sql`${t.currency} ~ '^[a-z]{3}$'`),
    check('prices_nanos_per_second', sql`${t.nanosPerSecond} between 0 and 1000000000`),
    check('prices_not_retroactive', sql`${t.isDefault} or ${t.fromAt} >= ${t.createdAt}`),
  ],
);

/** Append-only by a trigger: one row for each accepted report. */
export const usageEvents = pgTable(
  'usage_events',
  {
    workId: id('work_id').notNull(),
    reportedAt: instant('reported_at').notNull(),
    teamId: id('team_id').notNull(),
    kind: enumColumn('kind', WorkKind, WorkKindSchema).notNull(),
    executedBy: enumColumn('executed_by', ExecutedBy, ExecutedBySchema).notNull(),
    epoch: integer('epoch').notNull(),
    runnerId: id('runner_id').notNull(),
    buildId: id('build_id'),
    /**
     * It is null where the work is of no environment, or of one that was gone when the event was published.
     */
    environmentId: id('environment_id'),
    projectId: id('project_id'),
    claimedAt: instant('claimed_at').notNull(),
    meteredMs: integer('metered_ms').notNull(),
    selfReportedMs: integer('self_reported_ms'),
    priceId: id('price_id').notNull(),
    /** `meteredMs` times the price, in pico-units. */
    rated: numeric('rated', { precision: 38, scale: 0 }).notNull(),
    /**
     * First day of the UTC month of the report, or of the oldest one that was open when its own was closed.
     */
    period: date('period').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.workId, t.reportedAt] }),
    index('usage_events_of_team').on(t.teamId, t.reportedAt, t.workId),
    index('usage_events_of_build')
      .on(t.buildId)
      .where(sql`${t.buildId} is not null`),
    check('usage_events_kind', sql`${t.kind} in ('run', 'build')`),
    check('usage_events_executed_by', sql`${t.executedBy} in ('runner', 'service')`),
    check('usage_events_metered_ms', sql`${t.meteredMs} >= 0`),
  ],
);

export type UsageEvent = typeof usageEvents.$inferSelect;

/**
 * Sums of `usageEvents`: what a question about usage or costs takes does not grow with the history. The cost
 * is `meteredMs` times the price, and not stored.
 */
export const costDays = pgTable(
  'cost_days',
  {
    teamId: id('team_id').notNull(),
    period: date('period').notNull(),
    /** UTC day of the report, or the first one of the period for a report whose own month was closed. */
    day: date('day').notNull(),
    meter: meterColumn().notNull(),
    priceId: id('price_id').notNull(),
    /** It is empty where there is none, as in the next two. */
    projectId: id('project_id').notNull(),
    environmentId: id('environment_id').notNull(),
    runnerId: id('runner_id').notNull(),
    events: integer('events').notNull(),
    meteredMs: bigint('metered_ms', { mode: 'number' }).notNull(),
    selfReportedMs: bigint('self_reported_ms', { mode: 'number' }).notNull(),
    /** Events that came with a time of the runner's own. */
    selfReportedCount: integer('self_reported_count').notNull(),
  },
  (t) => [
    primaryKey({
      name: 'cost_days_pk',
      columns: [t.teamId, t.period, t.day, t.meter, t.priceId, t.projectId, t.environmentId, t.runnerId],
    }),
    check('cost_days_meter', isMeter),
  ],
);

/**
 * Names of what is in `costDays`, the team's own among them, as they were when a place last had its first
 * work of a day. Runners of the service's pool have none.
 */
export const costNames = pgTable(
  'cost_names',
  {
    teamId: id('team_id').notNull(),
    id: id('id').notNull(),
    name: text('name').notNull(),
  },
  (t) => [primaryKey({ columns: [t.teamId, t.id] })],
);

/**
 * The one row with the oldest month that is open. Whoever meters holds it in share, whoever closes moves it:
 * nothing comes into a month behind its closing.
 */
export const openPeriod = pgTable(
  'open_period',
  {
    only: boolean('only').primaryKey().default(true),
    month: date('month').notNull(),
    /** Every statement of this month and of those before it was made. Null: nobody has looked yet. */
    settledMonth: date('settled_month'),
  },
  (t) => [
    check('open_period_one', sql`${t.only}`),
    check('open_period_first', sql`extract(day from ${t.month}) = 1`),
  ],
);
