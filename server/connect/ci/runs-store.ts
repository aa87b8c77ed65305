/** Runs for callers: every statement is limited to the teams of a TeamScope. */
import type { TeamScope } from '../../kit/context.ts';
import type { Database } from '../../base/db/index.ts';
import type { Run, RunName } from './model/run.ts';
import { runColumns, runTables } from './run-columns.ts';
import { realId } from './run-names.ts';

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

export type RunsOf = { readonly pipelineId: string } | { readonly connectionId: string };

/** Newest first. */
export async function listRuns(
  { sql }: Database,
  scope: TeamScope,
  { of, take, after }: { of: RunsOf; take: number; after: After | undefined },
): Promise<readonly Run[]> {
  const which =
    'pipelineId' in of ? sql`r.pipeline_id = ${of.pipelineId}` : sql`r.connection_id = ${of.connectionId}`;
  const behind = after === undefined ? sql`` : sql`and (r.occurred_at, r.id) < (${after.at}, ${after.id})`;
  return await sql<Run[]>`
    select ${runColumns(sql)} from ${runTables(sql)} where ${which} and r.team_id = any(${[...scope.teamIds]}) ${behind}
    order by r.occurred_at desc nulls last, r.id desc nulls last limit ${take}`;
}
