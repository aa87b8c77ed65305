import { sql } from 'drizzle-orm';
import { check, foreignKey, index, integer, jsonb, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core';
import {
  PromotionRejection,
  PromotionRejectionSchema,
  PromotionState,
  PromotionStateSchema,
} from '@svc/proto/gen/svc/promotions/v1/promotions_pb.ts';
import { id, instant } from '../../base/db/columns.ts';
import { teams } from '../../kit/resource/schema.ts';
import { enumColumn, teamTable } from '../../kit/resource/team-table.ts';

/** The subject of an approval, by name, as people read it: see subject.ts. */
export type SubjectParts = Readonly<Record<string, string>>;

/** Ids and names of environments, releases and builds are as they were then: promotions outlive them all. */
export const promotions = teamTable(
  { name: 'promotions', kind: 'promotion', prefix: 'prm' },
  {
    projectId: id('project_id').notNull(),
    environmentId: id('environment_id').notNull(),
    environmentName: text('environment_name').notNull(),
    releaseId: id('release_id').notNull(),
    version: text('version').notNull(),
    /** The image that was asked for; null: the only one of the release. */
    artifactId: id('artifact_id'),
    state: enumColumn('state', PromotionState, PromotionStateSchema).notNull().default('pending'),
    rejection: enumColumn('rejection', PromotionRejection, PromotionRejectionSchema),
    reason: text('reason'),
    /** Why its approval made no build. */
    held: text('held', { enum: ['no_deploy_target', 'ambiguous_image', 'external'] }),
    requestedBy: id('requested_by').notNull(),
    overrideReason: text('override_reason'),
    /** The build that deploys it, whose first and only item has the same id. */
    buildId: id('build_id'),
    /** Digest of the image that this build deploys. */
    digest: text('digest'),
    url: text('url'),
    /** The count of its approvals began with this one; null: there was no approval yet. */
    fingerprint: text('fingerprint'),
    subject: jsonb('subject').$type<SubjectParts>(),
    approvedAt: instant('approved_at'),
    endedAt: instant('ended_at'),
  },
  (t) => [
    index('promotions_newest').on(t.environmentId, t.id),
    // Lists of a team, by state.
    index('promotions_of_team').on(t.teamId, t.state, t.id),
    // Lineage and graph read the promotions of a release.
    index('promotions_release').on(t.releaseId, t.id),
    // These are superseded by a newer one, or expire.
    index('promotions_pending')
      .on(t.environmentId, t.id)
      .where(sql`${t.state} = 'pending'`),
    // The one that was deployed elsewhere last.
    index('promotions_elsewhere')
      .on(t.environmentId, t.endedAt, t.id)
      .where(sql`${t.state} = 'deployed' and ${t.buildId} is null`),
    // These end with their build.
    uniqueIndex('promotions_build')
      .on(t.buildId)
      .where(sql`${t.buildId} is not null`),
    check('promotions_rejected', sql`(${t.state} = 'rejected') = (${t.rejection} is not null)`),
    check(
      'promotions_ended',
      sql`(${t.state} in ('deployed', 'rejected', 'failed')) = (${t.endedAt} is not null)`,
    ),
    check(
      'promotions_build_or_held',
      sql`${t.state} <> 'approved' or (${t.buildId} is null) = (${t.held} is not null)`,
    ),
  ],
);

/** There is one a person of those that are not void, whatever credentials they used. */
export const promotionApprovals = pgTable(
  'promotion_approvals',
  {
    id: id('id').primaryKey(),
    teamId: id('team_id').notNull(),
    promotionId: id('promotion_id').notNull(),
    userId: id('user_id').notNull(),
    at: instant('at').notNull(),
    /** The API key that it was given with; null: a session. */
    keyId: id('key_id'),
    /** The approval was given to this one; null: it was given before there were fingerprints. */
    fingerprint: text('fingerprint'),
    voidAt: instant('void_at'),
    voidReason: text('void_reason'),
  },
  (t) => [
    uniqueIndex('promotion_approvals_one')
      .on(t.promotionId, t.userId)
      .where(sql`${t.voidAt} is null`),
    // All of a promotion.
    index('promotion_approvals_of').on(t.promotionId, t.at),
    check('promotion_approvals_void', sql`(${t.voidAt} is null) = (${t.voidReason} is null)`),
    foreignKey({
      columns: [t.teamId, t.promotionId],
      foreignColumns: [promotions.teamId, promotions.id],
      name: 'promotion_approvals_promotion_fk',
    }).onDelete('cascade'),
  ],
);

/** Every build that deployed, as its event says it. Rows are made and never changed. */
export const deployments = teamTable(
  { name: 'deployments', kind: 'deployment', prefix: 'dep' },
  {
    projectId: id('project_id').notNull(),
    environmentId: id('environment_id').notNull(),
    environmentName: text('environment_name').notNull(),
    /** Number of the build in its environment. */
    number: integer('number').notNull(),
    buildId: id('build_id').notNull(),
    digest: text('digest').notNull(),
    promotionId: id('promotion_id'),
    runnerId: id('runner_id').notNull(),
    regionId: id('region_id').notNull(),
    address: text('address'),
    how: text('how', { enum: ['promotion', 'approved', 'direct', 'rollback'] }).notNull(),
    deployedAt: instant('deployed_at').notNull(),
  },
  (t) => [
    uniqueIndex('deployments_build').on(t.buildId),
    index('deployments_digest').on(t.teamId, t.digest, t.id),
  ],
);

/**
 * Each row says what runs in an environment: the deployment with the greatest number, whatever order events
 * come in.
 */
export const deploymentHeads = pgTable(
  'deployment_heads',
  {
    environmentId: id('environment_id').primaryKey(),
    teamId: id('team_id')
      .notNull()
      .references(() => teams.id, { onDelete: 'cascade' }),
    number: integer('number').notNull(),
    buildId: id('build_id').notNull(),
    digest: text('digest').notNull(),
  },
  (t) => [index('deployment_heads_digest').on(t.teamId, t.digest)],
);
