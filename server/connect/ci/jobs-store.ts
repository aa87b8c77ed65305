/** Jobs for callers: every statement is limited to the teams of a TeamScope. */
import type { TeamScope } from '../../kit/context.ts';
import type { Database, SqlTag } from '../../base/db/index.ts';
import type { CiStatus } from './accept.ts';

export interface Job {
  readonly id: string;
  readonly runId: string;
  readonly externalJobId: string | null;
  readonly name: string;
  readonly index: number;
  readonly status: CiStatus;
  readonly providerStatus: string | null;
  readonly providerConclusion: string | null;
  readonly blocked: boolean;
  readonly soft: boolean;
  readonly reason: string | null;
  readonly stage: string | null;
  readonly externalUrl: string | null;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly durationMs: number | null;
}

export type ListedJob = Job & { readonly createdAt: Date };

export const jobColumns = (sql: SqlTag) => sql`
  id, run_id as "runId", external_job_id as "externalJobId", name, index, status, provider_status as "providerStatus",
  provider_conclusion as "providerConclusion", blocked, soft, reason, stage, external_url as "externalUrl", started_at as "startedAt",
  finished_at as "finishedAt", duration_ms::float8 as "durationMs"`;

/** Lists jobs in the order in which they became known. */
export async function listJobs(
  { sql }: Database,
  scope: TeamScope,
  {
    runId,
    take,
    after,
  }: { runId: string; take: number; after: { readonly at: Date; readonly id: string } | undefined },
): Promise<readonly ListedJob[]> {
  const behind = after === undefined ? sql`` : sql`and (created_at, id) > (${after.at}, ${after.id})`;
  // Sorted in memory: the jobs of a run are few (JOBS_PER_RUN_MAX).
  return await sql<ListedJob[]>`
    select created_at as "createdAt", ${jobColumns(sql)} from ci_jobs
    where run_id = ${runId} and team_id = any(${[...scope.teamIds]}) ${behind}
    order by created_at, id limit ${take}`;
}
