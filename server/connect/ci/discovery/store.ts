/** Searches in the database. One of a connection is open at a time, and the last ten that ended are kept. */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { Database, SqlTag } from '../../../base/db/index.ts';
import { newId } from '../../../base/ids.ts';
import type { Connection } from '../model/connection.ts';
import type { FoundPipeline, FoundProblem, ReadFile, Snapshot } from './snapshot.ts';

const KEPT_MAX = 10;

export interface Discovery {
  readonly id: string;
  readonly connectionId: string;
  readonly state: 'queued' | 'running' | 'succeeded' | 'failed';
  readonly branch: string;
  readonly commitSha: string | null;
  readonly scanned: number;
  readonly truncated: boolean;
  readonly incompleteReason: string | null;
  readonly error: string | null;
  readonly pipelines: readonly FoundPipeline[];
  readonly problems: readonly FoundProblem[];
  readonly requestedAt: Date;
  readonly finishedAt: Date | null;
}

type Owner = Pick<Connection, 'id' | 'teamId'>;

const columns = (sql: SqlTag) => sql`
  id, connection_id as "connectionId", state, branch, commit_sha as "commitSha", scanned, truncated, incomplete_reason as "incompleteReason",
  error, pipelines, problems, requested_at as "requestedAt", finished_at as "finishedAt"`;
const isOpen = (sql: SqlTag) => sql`state in ('queued', 'running')`;

/** False when one is open. */
export async function openDiscovery(
  { sql }: Database,
  { id, teamId, defaultBranch }: Connection,
  now: Date,
): Promise<boolean> {
  const { count } = await sql`
    insert into ci_discoveries (id, team_id, connection_id, state, branch, requested_at)
    values (${newId('cid', now.getTime())}, ${teamId}, ${id}, 'queued', ${defaultBranch}, ${now})
    on conflict (connection_id) where ${isOpen(sql)} do nothing`;
  return count === 1;
}

export async function latestDiscovery(
  { sql }: Database,
  { id, teamId }: Owner,
): Promise<Discovery | undefined> {
  const [row] = await sql<Discovery[]>`
    select ${columns(sql)} from ci_discoveries where connection_id = ${id} and team_id = ${teamId}
    order by (${isOpen(sql)}) desc, requested_at desc nulls last, id desc nulls last limit 1`;
  return row;
}

export interface Begun {
  readonly id: string;
  readonly branch: string;
}

/** Begins the open search, which reads the branch that the connection names now. Undefined when somebody has ended it. */
export async function beginDiscovery(
  { sql }: Database,
  { id, defaultBranch }: Connection,
): Promise<Begun | undefined> {
  const [row] = await sql<Begun[]>`
    update ci_discoveries set state = 'running', branch = ${defaultBranch} where connection_id = ${id} and ${isOpen(sql)}
    returning id, branch`;
  return row;
}

/** The files that the last successful search read. */
export async function lastFiles({ sql }: Database, { id }: Owner): Promise<readonly ReadFile[]> {
  const [row] = await sql<
    Array<{
      files: ReadonlyArray<{ path: string; key: string }>;
      pipelines: readonly FoundPipeline[];
      problems: readonly FoundProblem[];
    }>
  >`
    select files, pipelines, problems from ci_discoveries where connection_id = ${id} and state = 'succeeded'
    order by requested_at desc nulls last, id desc nulls last limit 1`;
  if (row === undefined) return [];
  const { files, pipelines, problems } = row;
  return files.map((file) => ({
    ...file,
    pipelines: pipelines.filter(({ path }) => path === file.path),
    problems: problems.filter(({ path }) => path === file.path),
  }));
}

/** False when it was ended by somebody else. `db` must be the handle of a transaction. */
export async function succeed(
  { sql }: Database,
  { id, snapshot, now }: { readonly id: string; readonly snapshot: Snapshot; readonly now: Date },
): Promise<boolean> {
  const { commit, scanned, truncated, incompleteReason, files, problems } = snapshot;
  const all = [...problems, ...files.flatMap((file) => file.problems)];
  const read = files.map(({ path, key }) => ({ path, key }));
  const { count } = await sql`
    update ci_discoveries set state = 'succeeded', commit_sha = ${commit}, scanned = ${scanned}, truncated = ${truncated},
      incomplete_reason = ${incompleteReason ?? null}, pipelines = ${jsonb(
        sql,
        files.flatMap((file) => file.pipelines),
      )},
      problems = ${jsonb(sql, all)}, files = ${jsonb(sql, read)}, finished_at = ${now}
    where id = ${id} and ${isOpen(sql)}`;
  return count === 1;
}

const jsonb = (sql: SqlTag, value: unknown) => sql.json(value as never);

/** Ends the search with an error, unless it was ended by somebody else. */
export async function fail(
  { sql }: Database,
  { id, error, now }: { readonly id: string; readonly error: string; readonly now: Date },
): Promise<void> {
  await sql`
    update ci_discoveries set state = 'failed', error = ${error}, finished_at = ${now} where id = ${id} and ${isOpen(sql)}`;
}

export async function forgetOld({ sql }: Database, { id }: Owner): Promise<void> {
  await sql`
    delete from ci_discoveries where connection_id = ${id} and not (${isOpen(sql)}) and id not in (
      select id from ci_discoveries where connection_id = ${id} order by requested_at desc nulls last, id desc nulls last limit ${KEPT_MAX}::int
    )`;
}
