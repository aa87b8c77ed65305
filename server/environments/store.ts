/** Environments in the database: every read is limited to the teams of a TeamScope. */
import { apiError } from '@svc/proto/http/errors.ts';
import type { TeamScope } from '../platform/context.ts';
import { isForeignKeyViolation, isUniqueViolation } from '../platform/db/index.ts';
import type { Database, SqlTag } from '../platform/db/index.ts';
import { notFound } from '../platform/not-found.ts';

export type BuildType = 'auto' | 'dockerfile' | 'buildpack';

export interface Environment {
  readonly id: string;
  readonly teamId: string;
  readonly projectId: string;
  readonly name: string;
  readonly repository: string | null;
  readonly branch: string;
  readonly buildPath: string;
  readonly buildType: BuildType;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

const LIST_MAX = 200;

const columns = (sql: SqlTag) => sql`
  id, team_id as "teamId", project_id as "projectId", name, repository, branch, build_path as "buildPath",
  build_type as "buildType", created_at as "createdAt", updated_at as "updatedAt"`;

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
        (id, team_id, project_id, name, repository, branch, build_path, build_type, created_at, updated_at)
      values (${e.id}, ${e.teamId}, ${e.projectId}, ${e.name}, ${e.repository}, ${e.branch}, ${e.buildPath}, ${e.buildType},
        ${e.createdAt}, ${e.updatedAt})`;
  } catch (error) {
    if (isForeignKeyViolation(error, 'environments_project_fk')) throw notFound('project'); // deleted at this very moment
    throw nameTaken(error, e.name);
  }
}

export async function updateEnvironment({ sql }: Database, e: Environment): Promise<void> {
  try {
    await sql`
      update environments set name = ${e.name}, repository = ${e.repository}, branch = ${e.branch},
        build_path = ${e.buildPath}, build_type = ${e.buildType}, updated_at = ${e.updatedAt}
      where id = ${e.id} and team_id = ${e.teamId}`;
  } catch (error) {
    throw nameTaken(error, e.name);
  }
}

/** False when somebody else was faster. */
export async function deleteEnvironment({ sql }: Database, e: Environment): Promise<boolean> {
  const { count } = await sql`delete from environments where id = ${e.id} and team_id = ${e.teamId}`;
  return count === 1;
}

function nameTaken(error: unknown, name: string): unknown {
  if (!isUniqueViolation(error, 'environments_name')) return error;
  return apiError(
    'name_taken',
    `the project has an environment named "${name}" already; choose another name`,
  );
}
