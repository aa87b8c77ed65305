/** Runs for callers: every statement is limited to the teams of a TeamScope. */
import { and, asc, eq, exists, or, sql, type SQL } from 'drizzle-orm';
import type { Database } from '../../base/db/index.ts';
import { requireTeam } from '../../kit/authorise.ts';
import type { TeamScope } from '../../kit/context.ts';
import { inTeams } from '../../kit/resource/index.ts';
import { pipelineRows, type Pipeline } from '../pipelines/index.ts';
import type { RunName } from '../providers/index.ts';
import { selectRuns, type Run } from './run.ts';
import { realId } from './run-names.ts';
import { ciRuns } from './schema.ts';

export async function findRun(db: Database, scope: TeamScope, id: string): Promise<Run | undefined> {
  // The id of a run that was joined into another one leads there.
  const stays = sql`coalesce((select j.run_id from ci_run_joins j where j.id = ${id}), ${id})`;
  return (await selectRuns(db, and(eq(ciRuns.id, stays), inTeams(ciRuns, scope))))[0];
}

export async function findNamedRun(
  db: Database,
  scope: TeamScope,
  { connectionId, externalRunId, externalAttempt }: RunName & { readonly connectionId: string },
): Promise<Run | undefined> {
  const stored = { externalRunId: await realId(db, connectionId, externalRunId), externalAttempt };
  return (await selectRuns(db, and(isNamed(connectionId, stored), inTeams(ciRuns, scope))))[0];
}

/** This condition holds for the run that is stored under this very name. */
export const isNamed = (connectionId: string, { externalRunId, externalAttempt }: RunName) =>
  and(
    eq(ciRuns.connectionId, connectionId),
    eq(ciRuns.externalRunId, externalRunId),
    eq(ciRuns.externalAttempt, externalAttempt),
  );

/** The last row of the page before. */
export interface After {
  readonly at: Date;
  readonly id: string;
}

export type RunsOf =
  | { readonly pipelineId: string }
  | { readonly connectionId: string }
  | { readonly teamId: string; readonly statuses: readonly string[] };

/** Returns runs, newest first. */
export async function listRuns(
  db: Database,
  scope: TeamScope,
  { of, take, after }: { of: RunsOf; take: number; after: After | undefined },
): Promise<readonly Run[]> {
  const { occurredAt: at, id } = ciRuns;
  const behind = after && sql`(${at}, ${id}) < (${sql.param(after.at, at)}, ${after.id})`;
  return await selectRuns(db, and(isOf(of, scope, { take, behind }), inTeams(ciRuns, scope), behind))
    .orderBy(sql`${at} desc nulls last`, sql`${id} desc nulls last`)
    .limit(take);
}

/** Those of a team are looked for by their statuses, each of which has its newest in one index. */
function isOf(
  of: RunsOf,
  scope: TeamScope,
  { take, behind }: { readonly take: number; readonly behind: SQL | undefined },
): SQL {
  const { occurredAt: at, id, teamId, status } = ciRuns;
  if ('pipelineId' in of) return eq(ciRuns.pipelineId, of.pipelineId);
  if ('connectionId' in of) return eq(ciRuns.connectionId, of.connectionId);
  return sql`${id} in (
    select n.id from unnest(${sql.param([...of.statuses])}::text[]) as s (status) cross join lateral (
      select ${id} from ${ciRuns} where ${and(eq(teamId, requireTeam(scope, of.teamId)), sql`${status} = s.status`, behind)}
      order by ${at} desc nulls last, ${id} desc nulls last limit ${take}
    ) n)`;
}

/** Lists pipelines by name, without those that are neither defined any more nor have runs. */
export async function listPipelines(
  { orm }: Database,
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
  const { table } = pipelineRows;
  const { name, path, defined } = table;
  const behind = after && sql`(${name}, ${path}) > (${after.name}, ${after.path})`;
  const hasRuns = exists(orm.select({ id: ciRuns.id }).from(ciRuns).where(eq(ciRuns.pipelineId, table.id)));
  return await orm
    .select()
    .from(table)
    .where(
      and(
        eq(table.connectionId, connectionId),
        inTeams(table, scope),
        behind,
        or(eq(defined, true), hasRuns),
      ),
    )
    .orderBy(asc(name), asc(path))
    .limit(take);
}
