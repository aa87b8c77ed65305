/** This file reads jobs for callers. Every statement is limited to the teams of a TeamScope. */
import { and, asc, eq, getTableColumns, sql, type SQL } from 'drizzle-orm';
import type { Database } from '../../base/db/index.ts';
import type { TeamScope } from '../../kit/context.ts';
import { inTeams } from '../../kit/resource/index.ts';
import type { After } from './runs-store.ts';
import { ciJobs } from './schema.ts';

/** Jobs are shown without their state, which is the larger part of a row. */
const { state: _state, ...shownColumns } = getTableColumns(ciJobs);

export type Job = Omit<typeof ciJobs.$inferSelect, 'state'>;

export const selectJobs = ({ orm }: Database, where: SQL | undefined) =>
  orm.select(shownColumns).from(ciJobs).where(where);

/** Lists jobs in the order in which they became known. */
export async function listJobs(
  db: Database,
  scope: TeamScope,
  { runId, take, after }: { runId: string; take: number; after: After | undefined },
): Promise<readonly Job[]> {
  const { createdAt: at, id } = ciJobs;
  const behind = after && sql`(${at}, ${id}) > (${sql.param(after.at, at)}, ${after.id})`;
  // Sorted in memory: the jobs of a run are few (JOBS_PER_RUN_MAX).
  return await selectJobs(db, and(eq(ciJobs.runId, runId), inTeams(ciJobs, scope), behind))
    .orderBy(asc(at), asc(id))
    .limit(take);
}
