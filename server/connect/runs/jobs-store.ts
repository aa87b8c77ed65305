/** Jobs for callers: every statement is limited to the teams of a TeamScope. */
import { and, asc, eq, sql } from 'drizzle-orm';
import type { Database } from '../../base/db/index.ts';
import type { TeamScope } from '../../kit/context.ts';
import { inTeams } from '../../kit/resource/index.ts';
import { ciJobs } from './schema.ts';

export type Job = typeof ciJobs.$inferSelect;

/** Lists jobs in the order in which they became known. */
export async function listJobs(
  { orm }: Database,
  scope: TeamScope,
  {
    runId,
    take,
    after,
  }: { runId: string; take: number; after: { readonly at: Date; readonly id: string } | undefined },
): Promise<readonly Job[]> {
  const { createdAt: at, id } = ciJobs;
  const behind = after && sql`(${at}, ${id}) > (${sql.param(after.at, at)}, ${after.id})`;
  // Sorted in memory: the jobs of a run are few (JOBS_PER_RUN_MAX).
  return await orm
    .select()
    .from(ciJobs)
    .where(and(eq(ciJobs.runId, runId), inTeams(ciJobs, scope), behind))
    .orderBy(asc(at), asc(id))
    .limit(take);
}
