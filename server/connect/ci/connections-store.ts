/** Connections and pipelines in the database: every read is limited to the teams of a TeamScope. */
import type { TeamScope } from '../../platform/context.ts';
import type { Database, SqlTag } from '../../platform/db/index.ts';
import { newId } from '../../platform/ids.ts';
import type { Connection } from './model/connection.ts';
import type { Recording } from './model/recording.ts';
import type { ConnectionStatus } from './words.ts';

/** What is named when a connection is made; the rest comes later. */
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

const columns = (sql: SqlTag) => sql`
  id, team_id as "teamId", provider, repository_host as "repositoryHost", repository_path as "repositoryPath",
  repository_key as "repositoryKey", project_id as "projectId", default_branch as "defaultBranch", ingest_mode as "ingestMode", status,
  status_detail as "statusDetail", forge, api_url as "apiUrl", quiet_until as "quietUntil", token, commit_status_mode as "commitStatusMode",
  commit_status_detail as "commitStatusDetail", commit_status_stopped as "commitStatusStopped", oidc_issuer as "oidcIssuer", oidc_repository_id as "oidcRepositoryId",
  oidc_owner_id as "oidcOwnerId", oidc_pinned_at as "oidcPinnedAt", oidc_repository_path as "oidcRepositoryPath",
  oidc_policy as "oidcPolicy", generic_mapping as "genericMapping",
  created_at as "createdAt", updated_at as "updatedAt"`;

/** Undefined when the team has connected this repository at this provider already. */
export async function insertConnection({ sql }: Database, c: NewConnection): Promise<Connection | undefined> {
  const [row] = await sql<Connection[]>`
    insert into ci_connections (id, team_id, provider, repository_host, repository_path, repository_key, project_id, default_branch,
      ingest_mode, status, created_at, updated_at)
    values (${c.id}, ${c.teamId}, ${c.provider}, ${c.repositoryHost}, ${c.repositoryPath}, ${c.repositoryKey}, ${c.projectId},
      ${c.defaultBranch}, ${c.ingestMode}, ${c.status}, ${c.createdAt}, ${c.updatedAt})
    on conflict (team_id, provider, repository_key) do nothing
    returning ${columns(sql)}`;
  return row;
}

/** Makes creations of one team take turns, so that the count is true when it is acted upon. */
export async function countConnections({ sql }: Database, teamId: string): Promise<number> {
  await sql`select 1 from teams where id = ${teamId} for no key update`;
  const [row] = await sql<
    Array<{ n: number }>
  >`select count(*)::int as n from ci_connections where team_id = ${teamId}`;
  return row?.n ?? 0;
}

export async function findConnection(
  { sql }: Database,
  scope: TeamScope,
  id: string,
): Promise<Connection | undefined> {
  const [row] = await sql<Connection[]>`
    select ${columns(sql)} from ci_connections where id = ${id} and team_id = any(${[...scope.teamIds]})`;
  return row;
}

/** The same, so that nobody else changes it before the transaction ends. */
export async function lockConnection(
  { sql }: Database,
  { id, teamId }: Pick<Connection, 'id' | 'teamId'>,
): Promise<Connection | undefined> {
  const [row] = await sql<Connection[]>`
    select ${columns(sql)} from ci_connections where id = ${id} and team_id = ${teamId} for no key update`;
  return row;
}

/** As it stays until the end of the transaction. Undefined: it was deleted. Others may ask for the same, so that reports do not wait for each other. */
export async function holdStatus(
  { sql }: Database,
  { id }: Pick<Connection, 'id'>,
): Promise<ConnectionStatus | undefined> {
  const [row] = await sql<
    Array<Pick<Connection, 'status'>>
  >`select status from ci_connections where id = ${id} for share`;
  return row?.status;
}

/** Of whichever team: for background work, and for jobs of CI systems, which belong to no team before their connection is known. */
export async function readConnection({ sql }: Database, id: string): Promise<Connection | undefined> {
  const [row] = await sql<Connection[]>`select ${columns(sql)} from ci_connections where id = ${id}`;
  return row;
}

export async function findConnectionOfRepository(
  { sql }: Database,
  { teamId, provider, repositoryKey }: Pick<Connection, 'teamId' | 'provider' | 'repositoryKey'>,
): Promise<Connection | undefined> {
  const [row] = await sql<Connection[]>`
    select ${columns(sql)} from ci_connections
    where team_id = ${teamId} and provider = ${provider} and repository_key = ${repositoryKey}`;
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
  { teamId, take, after }: { teamId: string; take: number; after: After | undefined },
): Promise<readonly Connection[]> {
  const behind = after === undefined ? sql`` : sql`and (created_at, id) < (${after.at}, ${after.id})`;
  return await sql<Connection[]>`
    select ${columns(sql)} from ci_connections where team_id = ${teamId} ${behind}
    order by created_at desc nulls last, id desc nulls last limit ${take}`;
}

/** What a person changes, of a row that is locked. */
export async function updateConnection({ sql }: Database, c: Connection): Promise<void> {
  const jsonOrNull = (value: object | null) => (value === null ? null : sql.json(value as never));
  await sql`
    update ci_connections set project_id = ${c.projectId}, default_branch = ${c.defaultBranch}, ingest_mode = ${c.ingestMode}, status = ${c.status},
      status_detail = ${c.statusDetail}, commit_status_mode = ${c.commitStatusMode}, commit_status_detail = ${c.commitStatusDetail},
      commit_status_stopped = ${c.commitStatusStopped}, oidc_policy = ${jsonOrNull(c.oidcPolicy)}, generic_mapping = ${jsonOrNull(c.genericMapping)}, updated_at = ${c.updatedAt}
    where id = ${c.id} and team_id = ${c.teamId}`;
}

export async function keepQuiet(
  { sql }: Database,
  { id }: Pick<Connection, 'id'>,
  until: Date,
): Promise<void> {
  await sql`update ci_connections set quiet_until = greatest(quiet_until, ${until}) where id = ${id}`;
}

/** False when somebody else was faster. */
export async function deleteConnection(
  { sql }: Database,
  { id, teamId }: Pick<Connection, 'id' | 'teamId'>,
): Promise<boolean> {
  const { count } = await sql`delete from ci_connections where id = ${id} and team_id = ${teamId}`;
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

/** By name; without those that are neither defined any more nor have runs. */
export async function listPipelines(
  { sql }: Database,
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
    select ${pipelineColumns(sql)} from ci_pipelines p where connection_id = ${connectionId} ${behind}
      and (defined or exists (select 1 from ci_runs r where r.pipeline_id = p.id))
    order by name, path limit ${take}`;
}

/** Any fixed number that nothing else seeds its locks with. */
const PIPELINES_LOCK_SEED = 1754;

/** Nobody else makes pipelines of this connection until the end of the transaction; two that made two each, in other orders, would wait for each other. */
export async function lockPipelines({ sql }: Database, connectionId: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${connectionId}, ${PIPELINES_LOCK_SEED}))`;
}

/** Returns the id of the file's pipeline if the file is known here, else of the name's; makes one when there is none. */
export async function ensurePipeline(
  { db, connection: { teamId, id: connectionId }, now }: Recording,
  { name, path }: { readonly name: string; readonly path: string },
): Promise<string> {
  const { sql } = db;
  const find = async (): Promise<string | undefined> => {
    const [row] = await sql<Array<{ id: string }>>`
      select id from ci_pipelines
      where connection_id = ${connectionId} and (
        (path = ${path} and path <> '')
        -- Two files may give one name; whose file is not known goes by the name.
        or (name = ${name} and (path = '' or ${path} = '' or path = ${path})))
      order by (path = ${path}) desc, (name = ${name}) desc, id limit 1`;
    return row?.id;
  };
  const known = await find();
  if (known !== undefined) return known;
  await lockPipelines(db, connectionId);
  const theirs = await find(); // of whoever held the lock
  if (theirs !== undefined) return theirs;
  const pipelineId = newId('cip', now.getTime());
  await sql`
    insert into ci_pipelines (id, team_id, connection_id, name, path, created_at)
    values (${pipelineId}, ${teamId}, ${connectionId}, ${name}, ${path}, ${now})`;
  return pipelineId;
}
