/** This file reads and writes statuses of commits in the database. */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import { and, eq, lt, sql } from 'drizzle-orm';
import type { Database } from '../../base/db/index.ts';
import { connectionRows, noteConnection, type Connection } from '../connections/index.ts';
import { pipelineRows } from '../pipelines/index.ts';
import type { Run } from '../runs/index.ts';
import { ciCommitStatuses } from './schema.ts';

/** The key of a status: the commit and the context. */
export interface StatusName {
  readonly connectionId: string;
  readonly sha: string;
  readonly context: string;
}

type StoredStatus = typeof ciCommitStatuses.$inferSelect;

/** Returns whether an older pipeline of the connection has the same name. */
export async function isSecondOfName(
  { orm }: Database,
  { connectionId, pipelineId, pipelineName }: Run,
): Promise<boolean> {
  const { table } = pipelineRows;
  const ofName = and(eq(table.connectionId, connectionId), eq(table.name, pipelineName));
  return (await orm.$count(table, and(ofName, lt(table.id, pipelineId)))) > 0;
}

export async function pipelinePath({ orm }: Database, { pipelineId }: Run): Promise<string> {
  const { table } = pipelineRows;
  const [row] = await orm.select({ path: table.path }).from(table).where(eq(table.id, pipelineId));
  return row?.path ?? '';
}

/** The context under which a status of this run was posted already. */
export async function postedContext({ orm }: Database, { id, commitSha }: Run): Promise<string | undefined> {
  const { context, runId, postedRunId, sha } = ciCommitStatuses;
  const [row] = await orm
    .select({ context })
    .from(ciCommitStatuses)
    .where(and(eq(runId, id), eq(postedRunId, id), eq(sha, commitSha ?? '')))
    .limit(1);
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

const isNamed = ({ connectionId, sha, context }: StatusName) =>
  and(
    eq(ciCommitStatuses.connectionId, connectionId),
    eq(ciCommitStatuses.sha, sha),
    eq(ciCommitStatuses.context, context),
  );

export async function readStatus({ orm }: Database, name: StatusName): Promise<StoredStatus | undefined> {
  return (await orm.select().from(ciCommitStatuses).where(isNamed(name)))[0];
}

export async function notePosted(
  { orm }: Database,
  name: StatusName,
  { state: postedState, runId: postedRunId }: { readonly state: string; readonly runId: string },
): Promise<void> {
  const posts = sql`${ciCommitStatuses.posts} + 1`;
  await orm.update(ciCommitStatuses).set({ postedState, postedRunId, posts }).where(isNamed(name));
}

const { commitStatusDetail: told, commitStatusMode: mode, commitStatusStopped, token } = connectionRows.table;

/**
 * Notes a problem, or null when all is well. It is written only where it changes, and not for a connection
 * that was stopped meanwhile.
 */
export async function noteDetail(
  db: Database,
  connection: Pick<Connection, 'id'>,
  commitStatusDetail: string | null,
): Promise<void> {
  const where = and(eq(commitStatusStopped, false), sql`${told} is distinct from ${commitStatusDetail}`);
  await noteConnection(db, connection, { set: { commitStatusDetail }, where });
}

/** Stops all posts, unless the token or the mode were set anew since this one was read. */
export async function stopPosting(
  db: Database,
  connection: Connection,
  commitStatusDetail: string,
): Promise<void> {
  const isSame = sql`${token} is not distinct from ${connection.token}`;
  const where = and(isSame, eq(mode, connection.commitStatusMode));
  await noteConnection(db, connection, { set: { commitStatusDetail, commitStatusStopped: true }, where });
}
