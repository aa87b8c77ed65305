/** The rest of Connect knows a run in this form. */
// No TeamScope: fragments of statements that take a TeamScope.
import { eq, getTableColumns, sql, type SQL } from 'drizzle-orm';
import { CiRunSchema, type CiRun } from '@svc/proto/gen/svc/ci/v1/ci_pb.ts';
import type { Database } from '../../base/db/index.ts';
import { shown, type RowOf } from '../../kit/resource/index.ts';
import type { Connection } from '../connections/index.ts';
import { pipelineRows, type Recording } from '../pipelines/index.ts';
import { ciRuns } from './schema.ts';

export interface Run extends RowOf<typeof ciRuns> {
  readonly pipelineName: string;
  /** Other environments in whose timelines it stands, the oldest first. */
  readonly alsoIn: readonly string[];
}

const alsoIn = sql<readonly string[]>`array(
  select x.environment_id from ci_run_environments x where x.run_id = ${ciRuns.id} order by x.environment_id)`;

/** Selects runs with what stands beside their rows. */
export const selectRuns = ({ orm }: Pick<Database, 'orm'>, where: SQL | undefined) => {
  const { table: pipelines } = pipelineRows;
  return orm
    .select({ ...getTableColumns(ciRuns), pipelineName: pipelines.name, alsoIn })
    .from(ciRuns)
    .innerJoin(pipelines, eq(pipelines.id, ciRuns.pipelineId))
    .where(where);
};

/** A feature above acts when a run was made or has changed, in the transaction of that. */
export type RunFollower = (
  db: Database,
  connection: Connection,
  change: { readonly before: Run | undefined; readonly run: Run },
) => Promise<void>;

/** It is the transaction in which events about runs of a connection are recorded. */
export interface RunRecording extends Recording {
  readonly follow: RunFollower;
}

/** `unplaced` is the reason why it stands in no timeline. */
export function shownRun(run: Run, { unplaced }: { readonly unplaced?: string } = {}): CiRun {
  const { connectionId: ciConnectionId, environmentId } = run;
  const environmentIds = environmentId === null ? run.alsoIn : [environmentId, ...run.alsoIn];
  return shown(CiRunSchema, run, { ciConnectionId, environmentIds, unplaced });
}
