/**
 * Builds: what a work item cannot tell. Where a build stands while a runner has it is said by its item
 * (`work_items.state` and `.phase`); the row here says that it is open, waits for a person, or has ended, and
 * it is changed in the very statement that ends the item.
 */
import { sql } from 'drizzle-orm';
import { boolean, check, foreignKey, index, integer, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { environments } from '../../apps/environments/schema.ts';
import { id, instant } from '../../base/db/columns.ts';

export const builds = pgTable(
  'builds',
  {
    id: id('id').primaryKey(),
    teamId: id('team_id').notNull(),
    environmentId: id('environment_id').notNull(),
    /**
     * Numbers count from 1. They are given out under a lock on the environment that is held until the commit,
     * so that a smaller number never appears later.
     */
    number: integer('number').notNull(),
    state: text('state', {
      enum: ['open', 'awaiting_approval', 'succeeded', 'failed', 'cancelled'],
    })
      .notNull()
      .default('open'),
    trigger: text('trigger', { enum: ['manual', 'rollback', 'promotion'] }).notNull(),
    rollbackOf: id('rollback_of'),
    branch: text('branch').notNull(),
    commit: text('commit'),
    /** As asked for, then as it was made. */
    buildType: text('build_type', { enum: ['auto', 'dockerfile', 'buildpack'] }).notNull(),
    /** Without tag. */
    image: text('image'),
    digest: text('digest'),
    /** Under which the image was published. */
    tag: text('tag'),
    address: text('address'),
    /** What a person has to say, or said, about the deploy. */
    approval: text('approval', { enum: ['none', 'required', 'approved', 'rejected'] }).notNull(),
    approvalBy: id('approval_by'),
    approvalAt: instant('approval_at'),
    /** Its runner was lost in a phase that must not be repeated by itself. */
    needsDecision: boolean('needs_decision').notNull().default(false),
    /** Instead of what the item says: of an end that no item brought about, or after its end. */
    message: text('message'),
    /** The item that stands for it now: its own, or that of the approved deploy. */
    workId: id('work_id').notNull(),
    /**
     * Runner on whose machine its deploy came up, or may have: that of the environment's newest such build
     * executes its next deploys (work/build-sql.ts).
     */
    deployRunnerId: id('deploy_runner_id'),
    /** W3C trace id, 32 hexadecimal digits. */
    traceId: text('trace_id').notNull(),
    createdBy: id('created_by').notNull(),
    createdAt: instant('created_at').notNull(),
    finishedAt: instant('finished_at'),
  },
  (t) => [
    check(
      'builds_state',
      sql`${t.state} in ('open', 'awaiting_approval', 'succeeded', 'failed', 'cancelled')`,
    ),
    check(
      'builds_finished',
      sql`(${t.state} in ('succeeded', 'failed', 'cancelled')) = (${t.finishedAt} is not null)`,
    ),
    uniqueIndex('builds_team_id').on(t.teamId, t.id),
    uniqueIndex('builds_number').on(t.environmentId, t.number),
    // The timeline's way through them.
    index('builds_newest').on(t.environmentId, t.createdAt.desc(), t.id.desc()),
    // Lists of a team, by state.
    index('builds_of_team').on(t.teamId, t.state, t.id),
    // The graph's way from a commit.
    index('builds_of_commit')
      .on(t.teamId, t.commit, t.createdAt.desc(), t.id.desc())
      .where(sql`${t.commit} is not null`),
    // Those that hold the environment, or wait for it: whose turn it is, is the first one in here.
    index('builds_turn')
      .on(t.environmentId, t.number)
      .where(sql`${t.finishedAt} is null`),
    // The environment's last deploy.
    index('builds_deployed')
      .on(t.environmentId, t.number)
      .where(sql`${t.deployRunnerId} is not null`),
    index('builds_open')
      .on(t.teamId)
      .where(sql`${t.finishedAt} is null`),
    foreignKey({
      columns: [t.teamId, t.environmentId],
      foreignColumns: [environments.teamId, environments.id],
      name: 'builds_environment_fk',
    }).onDelete('cascade'),
  ],
);
