import { sql } from 'drizzle-orm';
import { boolean, check, integer, jsonb, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { BuildType, BuildTypeSchema } from '@svc/proto/gen/svc/environments/v1/environments_pb.ts';
import { projects } from '../projects/schema.ts';
import { id, instant } from '../../base/db/columns.ts';
import { enumColumn, teamTable } from '../../kit/resource/team-table.ts';

/** The images of builds are brought up as this says. */
export interface Deploy {
  readonly kind: 'container' | 'dokku';
  readonly app: string;
  readonly containerPort: number;
  /** 0: the runner chooses one. */
  readonly hostPort: number;
}

export const environments = teamTable(
  { name: 'environments', kind: 'environment', prefix: 'env', within: { projectId: projects } },
  {
    projectId: id('project_id').notNull(),
    name: text('name').notNull(),
    repository: text('repository'),
    branch: text('branch').notNull().default('main'),
    buildPath: text('build_path').notNull().default('.'),
    buildType: enumColumn('build_type', BuildType, BuildTypeSchema).notNull().default('auto'),
    /** It is null for the one at the build path. */
    dockerfile: text('dockerfile'),
    /** It is null for the build path. */
    context: text('context'),
    /** It is null for the last stage. */
    target: text('target'),
    submodules: boolean('submodules').notNull().default(false),
    cloneDepth: integer('clone_depth').notNull().default(1),
    /** It is the number of the commits that are cloned. */
    tags: boolean('tags').notNull().default(false),
    /** A person must approve each deploy. */
    deployApproval: boolean('deploy_approval').notNull().default(false),
    /** It is null when builds end with the publication of their image. */
    deploy: jsonb('deploy').$type<Deploy>(),
    buildTimeoutSeconds: integer('build_timeout_seconds').notNull().default(3_600),
    /** Runners that may have its builds, as the contract's WorkSelector. Null: any. */
    runner: jsonb('runner').$type<{
      readonly group?: string;
      readonly labels?: Readonly<Record<string, string>>;
    }>(),
    /** People who must approve a promotion. */
    requiredApprovals: integer('required_approvals').notNull().default(1),
    allowSelfApproval: boolean('allow_self_approval').notNull().default(true),
    /** Builds publish and never deploy. */
    promotionsOnly: boolean('promotions_only').notNull().default(false),
    /**
     * It counts the changes of that which people approve deploys to: name, repository, branch, deploy, runner
     * and the rules of approvals. A trigger counts.
     */
    targetRevision: integer('target_revision').notNull().default(0),
    /** Credentials for the repository, encrypted; bound to the row. */
    gitSealed: text('git_sealed'),
    hasGitCredentials: boolean('has_git_credentials')
      .notNull()
      .generatedAlwaysAs(sql`git_sealed is not null`),
    /** Time since which its domains are to be served by HTTPS; null: they are not. */
    sslEnabledAt: instant('ssl_enabled_at'),
    updatedAt: instant('updated_at').notNull(),
  },
  (t) => [
    check('environments_required_approvals', sql`${t.requiredApprovals} between 1 and 5`),
    uniqueIndex('environments_name').on(t.projectId, t.name),
    // A runner finds what it replaces by the name of the app. In the service's pool the name is made the
    // team's own when it is offered.
    uniqueIndex('environments_deploy_app')
      .on(t.teamId, sql`(${t.deploy} ->> 'kind')`, sql`(${t.deploy} ->> 'app')`)
      .where(sql`${t.deploy} is not null`),
  ],
);
