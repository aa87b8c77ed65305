/** Environments in the database: every read is limited to the teams of a TeamScope. */
import { apiError } from '@svc/proto/http/errors.ts';
import type { TeamScope } from '../../platform/context.ts';
import { isForeignKeyViolation, isUniqueViolation } from '../../platform/db/index.ts';
import type { Database, SqlTag } from '../../platform/db/index.ts';
import { notFound } from '../../platform/not-found.ts';

export type BuildType = 'auto' | 'dockerfile' | 'buildpack';

/** Where the images of builds are brought up. */
export interface Deploy {
  readonly kind: 'container' | 'dokku';
  readonly app: string;
  readonly containerPort: number;
  /** 0: the engine chooses one. */
  readonly hostPort: number;
}

export interface Environment {
  readonly id: string;
  readonly teamId: string;
  readonly projectId: string;
  readonly name: string;
  readonly repository: string | null;
  readonly branch: string;
  readonly buildPath: string;
  readonly buildType: BuildType;
  readonly submodules: boolean;
  readonly deployApproval: boolean;
  /** Null: builds end when their image is published. */
  readonly deploy: Deploy | null;
  readonly buildTimeoutSeconds: number;
  readonly hasGitCredentials: boolean;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

const LIST_MAX = 200;

const columns = (sql: SqlTag) => sql`
  id, team_id as "teamId", project_id as "projectId", name, repository, branch, build_path as "buildPath",
  build_type as "buildType", submodules, deploy_approval as "deployApproval", deploy, build_timeout_seconds as "buildTimeoutSeconds",
  git_sealed is not null as "hasGitCredentials", created_at as "createdAt", updated_at as "updatedAt"`;

export async function listEnvironments(
  { sql }: Database,
  scope: TeamScope,
  projectId: string,
): Promise<readonly Environment[]> {
  return await sql<Environment[]>`
    select ${columns(sql)} from environments
    where project_id = ${projectId} and team_id = any(${[...scope.teamIds]}) order by name limit ${LIST_MAX}`;
}

export async function findEnvironment(
  { sql }: Database,
  scope: TeamScope,
  id: string,
): Promise<Environment | undefined> {
  const [row] = await sql<Environment[]>`
    select ${columns(sql)} from environments where id = ${id} and team_id = any(${[...scope.teamIds]})`;
  return row;
}

/** Counts under a lock on the project, so that two creations take turns. */
export async function countEnvironments({ sql }: Database, projectId: string): Promise<number> {
  await sql`select 1 from projects where id = ${projectId} for update`;
  const [row] = await sql<
    Array<{ n: number }>
  >`select count(*)::int as n from environments where project_id = ${projectId}`;
  return row?.n ?? 0;
}

export async function insertEnvironment({ sql }: Database, e: Environment): Promise<void> {
  try {
    await sql`
      insert into environments
        (id, team_id, project_id, name, repository, branch, build_path, build_type, submodules, deploy_approval, deploy,
          build_timeout_seconds, created_at, updated_at)
      values (${e.id}, ${e.teamId}, ${e.projectId}, ${e.name}, ${e.repository}, ${e.branch}, ${e.buildPath}, ${e.buildType},
        ${e.submodules}, ${e.deployApproval}, ${json(sql, e.deploy)}, ${e.buildTimeoutSeconds}, ${e.createdAt}, ${e.updatedAt})`;
  } catch (error) {
    if (isForeignKeyViolation(error, 'environments_project_fk')) throw notFound('project'); // deleted at this very moment
    throw taken(error, e);
  }
}

export async function updateEnvironment({ sql }: Database, e: Environment): Promise<void> {
  try {
    await sql`
      update environments set name = ${e.name}, repository = ${e.repository}, branch = ${e.branch},
        build_path = ${e.buildPath}, build_type = ${e.buildType}, submodules = ${e.submodules},
        deploy_approval = ${e.deployApproval}, deploy = ${json(sql, e.deploy)}, build_timeout_seconds = ${e.buildTimeoutSeconds}, updated_at = ${e.updatedAt}
      where id = ${e.id} and team_id = ${e.teamId}`;
  } catch (error) {
    throw taken(error, e);
  }
}

const json = (sql: SqlTag, deploy: Deploy | null) => (deploy === null ? null : sql.json({ ...deploy }));

/** Makes changes that count or number an environment's rows take turns. False when it is gone. */
export async function lockEnvironment(
  { sql }: Database,
  { id, teamId }: Pick<Environment, 'id' | 'teamId'>,
): Promise<boolean> {
  // Not `for update`: rows that refer to the environment may be written meanwhile.
  const rows =
    await sql`select 1 from environments where id = ${id} and team_id = ${teamId} for no key update`;
  return rows.length === 1;
}

/** False when somebody else was faster. */
export async function deleteEnvironment({ sql }: Database, e: Environment): Promise<boolean> {
  const { count } = await sql`delete from environments where id = ${e.id} and team_id = ${e.teamId}`;
  return count === 1;
}

/** Another environment of the team that deploys this app. A statement that is refused by the index cannot ask any more, so it is asked before. */
export async function refuseTakenApp({ sql }: Database, { id, teamId, deploy }: Environment): Promise<void> {
  if (deploy === null) return;
  const { kind, app } = deploy;
  const [holder] = await sql<Array<{ id: string; name: string }>>`
    select id, name from environments
    where team_id = ${teamId} and deploy is not null and deploy ->> 'kind' = ${kind} and deploy ->> 'app' = ${app} and id <> ${id}`;
  if (holder !== undefined) throw appTaken(deploy, `environment "${holder.name}", ${holder.id},`, holder.id);
}

function appTaken({ kind, app }: Deploy, who: string, environmentId?: string): Error {
  return apiError(
    'name_taken',
    `${who} of the team deploys the ${kind} app "${app}" already, and each would replace the other's; choose another app name`,
    environmentId === undefined ? {} : { details: { environmentId } },
  );
}

function taken(error: unknown, { name, deploy }: Environment): unknown {
  // Made at this very moment.
  if (deploy !== null && isUniqueViolation(error, 'environments_deploy_app'))
    return appTaken(deploy, 'another environment');
  if (!isUniqueViolation(error, 'environments_name')) return error;
  return apiError(
    'name_taken',
    `the project has an environment named "${name}" already; choose another name`,
  );
}
