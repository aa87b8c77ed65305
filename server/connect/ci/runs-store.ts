/** Runs for callers: every statement is limited to the teams of a TeamScope. */
import type { TeamScope } from '../../platform/context.ts';
import type { Database, SqlTag } from '../../platform/db/index.ts';
import type { Run, RunName } from './model/run.ts';
import { realId } from './run-names.ts';

/** Columns of `r`, and of its pipeline `p`. */
export const runColumns = (sql: SqlTag) => sql`
  r.id, r.team_id as "teamId", r.connection_id as "connectionId", r.pipeline_id as "pipelineId", p.name as "pipelineName",
  r.external_run_id as "externalRunId", r.external_attempt as "externalAttempt", r.environment_id as "environmentId", r.state, r.lost,
  r.status, r.provider_status as "providerStatus", r.provider_conclusion as "providerConclusion", r.blocked, r.soft, r.reason, r.trigger,
  r.commit_sha as "commitSha", r.branch, r.tag, r.external_url as "externalUrl", r.actor, r.queued_at as "queuedAt",
  r.started_at as "startedAt", r.finished_at as "finishedAt", r.duration_ms::float8 as "durationMs", r.occurred_at as "occurredAt",
  r.created_at as "createdAt", r.updated_at as "updatedAt"`;
export const runTables = (sql: SqlTag) => sql`ci_runs r join ci_pipelines p on p.id = r.pipeline_id`;

export async function findRun({ sql }: Database, scope: TeamScope, id: string): Promise<Run | undefined> {
  // The id of a run that was joined into another one leads there.
  const [row] = await sql<Run[]>`
    select ${runColumns(sql)} from ${runTables(sql)}
    where r.id = coalesce((select j.run_id from ci_run_joins j where j.id = ${id}), ${id}) and r.team_id = any(${[...scope.teamIds]})`;
  return row;
}

export async function findNamedRun(
  db: Database,
  scope: TeamScope,
  { connectionId, externalRunId, externalAttempt }: RunName & { readonly connectionId: string },
): Promise<Run | undefined> {
  const { sql } = db;
  const stored = await realId(db, connectionId, externalRunId);
  const [row] = await sql<Run[]>`
    select ${runColumns(sql)} from ${runTables(sql)}
    where r.connection_id = ${connectionId} and r.external_run_id = ${stored} and r.external_attempt = ${externalAttempt}
      and r.team_id = any(${[...scope.teamIds]})`;
  return row;
}

/** The last row of the page before. */
interface After {
  readonly at: Date;
  readonly id: string;
}

/** Newest first. */
export async function listRuns(
  { sql }: Database,
  scope: TeamScope,
  { pipelineId, take, after }: { pipelineId: string; take: number; after: After | undefined },
): Promise<readonly Run[]> {
  const behind = after === undefined ? sql`` : sql`and (r.occurred_at, r.id) < (${after.at}, ${after.id})`;
  return await sql<Run[]>`
    select ${runColumns(sql)} from ${runTables(sql)} where r.pipeline_id = ${pipelineId} and r.team_id = any(${[...scope.teamIds]}) ${behind}
    order by r.occurred_at desc nulls last, r.id desc nulls last limit ${take}`;
}
