import { sql } from 'drizzle-orm';
import { boolean, check, foreignKey, integer, jsonb, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { id, instant } from '../../platform/db/columns.ts';
import { projects } from '../projects/schema.ts';

export const environments = pgTable(
  'environments',
  {
    id: id('id').primaryKey(),
    teamId: id('team_id').notNull(),
    projectId: id('project_id').notNull(),
    name: text('name').notNull(),
    repository: text('repository'),
    branch: text('branch').notNull().default('main'),
    buildPath: text('build_path').notNull().default('.'),
    buildType: text('build_type', { enum: ['auto', 'dockerfile', 'buildpack'] })
      .notNull()
      .default('auto'),
    submodules: boolean('submodules').notNull().default(false),
    /** A person must approve each deploy. */
    deployApproval: boolean('deploy_approval').notNull().default(false),
    /** Null: builds end when their image is published. */
    deploy: jsonb('deploy').$type<{
      readonly kind: 'container' | 'dokku';
      readonly app: string;
      readonly containerPort: number;
      /** 0: the engine chooses one. */
      readonly hostPort: number;
    }>(),
    buildTimeoutSeconds: integer('build_timeout_seconds').notNull().default(3_600),
    /** Credentials for the repository, encrypted; bound to the row. */
    gitSealed: text('git_sealed'),
    createdAt: instant('created_at').notNull(),
    updatedAt: instant('updated_at').notNull(),
  },
  (t) => [
    uniqueIndex('environments_team_id').on(t.teamId, t.id),
    uniqueIndex('environments_name').on(t.projectId, t.name),
    // A runner finds what it replaces by the name of the app. In the service's pool the name is made the team's own when it is offered.
    uniqueIndex('environments_deploy_app')
      .on(t.teamId, sql`(${t.deploy} ->> 'kind')`, sql`(${t.deploy} ->> 'app')`)
      .where(sql`${t.deploy} is not null`),
    foreignKey({
      columns: [t.teamId, t.projectId],
      foreignColumns: [projects.teamId, projects.id],
      name: 'environments_project_fk',
    }).onDelete('cascade'),
    check('environments_build_type', sql`${t.buildType} in ('auto', 'dockerfile', 'buildpack')`),
  ],
);
