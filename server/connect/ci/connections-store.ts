/** Connections and pipelines for callers: every statement is limited to the teams of a TeamScope. */
import { requireTeam } from '../../kit/authorise.ts';
import type { TeamScope } from '../../kit/context.ts';
import type { Database, SqlTag } from '../../base/db/index.ts';
import type { Connection } from './model/connection.ts';

/** The columns of a new connection; the others are set later. */
export type NewConnection = Pick<
  Connection,
  | 'id'
  | 'teamId'
  | 'provider'
  | 'repositoryHost'
  | 'repositoryPath'
  | 'repositoryKey'
  | 'projectId'
  | 'defaultBranch'
  | 'ingestMode'
  | 'status'
  | 'createdAt'
  | 'updatedAt'
>;

export const connectionColumns = (sql: SqlTag) => sql`
  id, team_id as "teamId", provider, repository_host as "repositoryHost", repository_path as "repositoryPath",
  repository_key as "repositoryKey", project_id as "projectId", default_branch as "defaultBranch", ingest_mode as "ingestMode", status,
  status_detail as "statusDetail", forge, api_url as "apiUrl", quiet_until as "quietUntil", token, commit_status_mode as "commitStatusMode",
  commit_status_detail as "commitStatusDetail", commit_status_stopped as "commitStatusStopped", oidc_issuer as "oidcIssuer", oidc_repository_id as "oidcRepositoryId",
  oidc_owner_id as "oidcOwnerId", oidc_pinned_at as "oidcPinnedAt", oidc_repository_path as "oidcRepositoryPath",
  oidc_policy as "oidcPolicy", generic_mapping as "genericMapping",
  created_at as "createdAt", updated_at as "updatedAt"`;

/** Undefined when the team has connected this repository at this provider already. */
export async function insertConnection(
  { sql }: Database,
  scope: TeamScope,
  c: NewConnection,
): Promise<Connection | undefined> {
  requireTeam(scope, c.teamId);
  const [row] = await sql<Connection[]>`
    insert into ci_connections (id, team_id, provider, repository_host, repository_path, repository_key, project_id, default_branch,
      ingest_mode, status, created_at, updated_at)
    values (${c.id}, ${c.teamId}, ${c.provider}, ${c.repositoryHost}, ${c.repositoryPath}, ${c.repositoryKey}, ${c.projectId},
      ${c.defaultBranch}, ${c.ingestMode}, ${c.status}, ${c.createdAt}, ${c.updatedAt})
    on conflict (team_id, provider, repository_key) do nothing
    returning ${connectionColumns(sql)}`;
  return row;
}

/** Makes creations of one team take turns, so that the count is true when it is acted upon. */
export async function countConnections({ sql }: Database, scope: TeamScope, teamId: string): Promise<number> {
  const teamIds = [...scope.teamIds];
  await sql`select 1 from teams where id = ${teamId} and id = any(${teamIds}) for no key update`;
  const [row] = await sql<
    Array<{ n: number }>
  >`select count(*)::int as n from ci_connections where team_id = ${teamId} and team_id = any(${teamIds})`;
  return row?.n ?? 0;
}

export async function findConnection(
  { sql }: Database,
  scope: TeamScope,
  id: string,
): Promise<Connection | undefined> {
  const [row] = await sql<Connection[]>`
    select ${connectionColumns(sql)} from ci_connections where id = ${id} and team_id = any(${[...scope.teamIds]})`;
  return row;
}

/** Finds and locks it, so that nobody else changes it before the transaction ends. */
export async function lockConnection(
  { sql }: Database,
  scope: TeamScope,
  id: string,
): Promise<Connection | undefined> {
  const [row] = await sql<Connection[]>`
    select ${connectionColumns(sql)} from ci_connections where id = ${id} and team_id = any(${[...scope.teamIds]}) for no key update`;
  return row;
}

export async function findConnectionOfRepository(
  { sql }: Database,
  scope: TeamScope,
  { teamId, provider, repositoryKey }: Pick<Connection, 'teamId' | 'provider' | 'repositoryKey'>,
): Promise<Connection | undefined> {
  const [row] = await sql<Connection[]>`
    select ${connectionColumns(sql)} from ci_connections
    where team_id = ${teamId} and provider = ${provider} and repository_key = ${repositoryKey} and team_id = any(${[...scope.teamIds]})`;
  return row;
}

/** The last row of the page before. */
interface After {
  readonly at: Date;
  readonly id: string;
}

/** Newest first. */
export async function listConnections(
  { sql }: Database,
  scope: TeamScope,
  { teamId, take, after }: { teamId: string; take: number; after: After | undefined },
): Promise<readonly Connection[]> {
  const behind = after === undefined ? sql`` : sql`and (created_at, id) < (${after.at}, ${after.id})`;
  return await sql<Connection[]>`
    select ${connectionColumns(sql)} from ci_connections where team_id = ${teamId} and team_id = any(${[...scope.teamIds]}) ${behind}
    order by created_at desc nulls last, id desc nulls last limit ${take}`;
}

/** Writes what a person may change. The row is locked by the caller. */
export async function updateConnection({ sql }: Database, scope: TeamScope, c: Connection): Promise<void> {
  const jsonOrNull = (value: object | null) => (value === null ? null : sql.json(value as never));
  await sql`
    update ci_connections set project_id = ${c.projectId}, default_branch = ${c.defaultBranch}, ingest_mode = ${c.ingestMode}, status = ${c.status},
      status_detail = ${c.statusDetail}, commit_status_mode = ${c.commitStatusMode}, commit_status_detail = ${c.commitStatusDetail},
      commit_status_stopped = ${c.commitStatusStopped}, oidc_policy = ${jsonOrNull(c.oidcPolicy)}, generic_mapping = ${jsonOrNull(c.genericMapping)}, updated_at = ${c.updatedAt}
    where id = ${c.id} and team_id = any(${[...scope.teamIds]})`;
}

/** False when somebody else was faster. */
export async function deleteConnection({ sql }: Database, scope: TeamScope, id: string): Promise<boolean> {
  const { count } =
    await sql`delete from ci_connections where id = ${id} and team_id = any(${[...scope.teamIds]})`;
  return count === 1;
}

export interface Pipeline {
  readonly id: string;
  readonly teamId: string;
  readonly connectionId: string;
  readonly name: string;
  /** Empty: not known. */
  readonly path: string;
  readonly jobs: readonly string[];
  readonly triggers: readonly string[];
  readonly deployDetected: boolean;
  /** The latest discovery found its definition. */
  readonly defined: boolean;
  readonly createdAt: Date;
}

const pipelineColumns = (sql: SqlTag) => sql`
  id, team_id as "teamId", connection_id as "connectionId", name, path, jobs, triggers, deploy_detected as "deployDetected", defined,
  created_at as "createdAt"`;

export async function findPipeline(
  { sql }: Database,
  scope: TeamScope,
  id: string,
): Promise<Pipeline | undefined> {
  const [row] = await sql<Pipeline[]>`
    select ${pipelineColumns(sql)} from ci_pipelines where id = ${id} and team_id = any(${[...scope.teamIds]})`;
  return row;
}

/** Lists pipelines by name, without those that are neither defined any more nor have runs. */
export async function listPipelines(
  { sql }: Database,
  scope: TeamScope,
  {
    connectionId,
    take,
    after,
  }: {
    connectionId: string;
    take: number;
    after: { readonly name: string; readonly path: string } | undefined;
  },
): Promise<readonly Pipeline[]> {
  const behind = after === undefined ? sql`` : sql`and (name, path) > (${after.name}, ${after.path})`;
  return await sql<Pipeline[]>`
    select ${pipelineColumns(sql)} from ci_pipelines p
    where connection_id = ${connectionId} and team_id = any(${[...scope.teamIds]}) ${behind}
      and (defined or exists (select 1 from ci_runs r where r.pipeline_id = p.id))
    order by name, path limit ${take}`;
}
