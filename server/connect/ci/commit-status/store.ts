/** Statuses of commits in the database. */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { Database, SqlTag } from '../../../base/db/index.ts';
import type { Connection } from '../model/connection.ts';
import type { Run } from '../model/run.ts';

/** The key of a status: the commit and the context. */
export interface StatusName {
  readonly connectionId: string;
  readonly sha: string;
  readonly context: string;
}

export interface StoredStatus {
  /** The newest run of the pipeline for the commit. */
  readonly runId: string;
  readonly postedState: string | null;
  readonly postedRunId: string | null;
  readonly posts: number;
}

/** Whether an older pipeline of the connection has the same name. */
export async function isSecondOfName(
  { sql }: Database,
  { connectionId, pipelineId, pipelineName }: Run,
): Promise<boolean> {
  const rows = await sql`
    select 1 from ci_pipelines where connection_id = ${connectionId} and name = ${pipelineName} and id < ${pipelineId} limit 1`;
  return rows.length > 0;
}

export async function pipelinePath({ sql }: Database, { pipelineId }: Run): Promise<string> {
  const [row] = await sql<Array<{ path: string }>>`select path from ci_pipelines where id = ${pipelineId}`;
  return row?.path ?? '';
}

/** The context under which a status of this run was posted already. */
export async function postedContext({ sql }: Database, { id, commitSha }: Run): Promise<string | undefined> {
  const [row] = await sql<Array<{ context: string }>>`
    select context from ci_commit_statuses where run_id = ${id} and told_run_id = ${id} and sha = ${commitSha} limit 1`;
  return row?.context;
}

/** Returns false when a newer run of the same pipeline gives the commit its status. */
export async function nameRun({ sql }: Database, run: Run, context: string): Promise<boolean> {
  const { count } = await sql`
    insert into ci_commit_statuses (team_id, connection_id, sha, context, run_id, run_occurred_at, run_attempt)
    values (${run.teamId}, ${run.connectionId}, ${run.commitSha}, ${context}, ${run.id}, ${run.occurredAt}, ${run.externalAttempt})
    on conflict (connection_id, sha, context) do update set run_id = excluded.run_id, run_occurred_at = excluded.run_occurred_at,
      run_attempt = excluded.run_attempt
    where ci_commit_statuses.run_id = excluded.run_id or (excluded.run_occurred_at, excluded.run_attempt, excluded.run_id)
      > (ci_commit_statuses.run_occurred_at, ci_commit_statuses.run_attempt, ci_commit_statuses.run_id)`;
  return count === 1;
}

export async function readStatus({ sql }: Database, name: StatusName): Promise<StoredStatus | undefined> {
  const [row] = await sql<StoredStatus[]>`
    select run_id as "runId", told_word as "postedState", told_run_id as "postedRunId", posts from ci_commit_statuses
    where connection_id = ${name.connectionId} and sha = ${name.sha} and context = ${name.context}`;
  return row;
}

export async function notePosted(
  sql: SqlTag,
  { connectionId, sha, context }: StatusName,
  { state, runId }: { readonly state: string; readonly runId: string },
): Promise<void> {
  await sql`
    update ci_commit_statuses set told_word = ${state}, told_run_id = ${runId}, posts = posts + 1
    where connection_id = ${connectionId} and sha = ${sha} and context = ${context}`;
}

/** Null: all is well. Written only where it changes, and not for a connection that was stopped meanwhile. */
export async function noteDetail(
  sql: SqlTag,
  { id }: Pick<Connection, 'id'>,
  detail: string | null,
): Promise<void> {
  await sql`
    update ci_connections set commit_status_detail = ${detail}
    where id = ${id} and not commit_status_stopped and commit_status_detail is distinct from ${detail}`;
}

/** Stops all posts, unless the token or the mode were set anew since this one was read. */
export async function stopPosting(
  sql: SqlTag,
  { id, token, commitStatusMode }: Connection,
  detail: string,
): Promise<void> {
  await sql`
    update ci_connections set commit_status_detail = ${detail}, commit_status_stopped = true
    where id = ${id} and token is not distinct from ${token} and commit_status_mode = ${commitStatusMode}`;
}
