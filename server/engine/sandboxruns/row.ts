/**
 * A sandbox run as its row has it, and as callers see it. The only file of the feature that knows column
 * names.
 */
import { SandboxRunSchema, type SandboxRun } from '@svc/proto/gen/svc/sandboxruns/v1/sandboxruns_pb.ts';
import { requireTeam } from '../../kit/authorise.ts';
import type { TeamScope } from '../../kit/context.ts';
import type { SqlTag } from '../../base/db/index.ts';
import { shown } from '../../kit/resource/index.ts';
import type { Waiting } from '../runners/index.ts';
import {
  currentItems,
  shownSelector,
  type Placement,
  type RunSpec,
  type WorkItem,
  type WorkState,
} from '../work/index.ts';

type Shown =
  | 'id'
  | 'teamId'
  | 'state'
  | 'reason'
  | 'exitCode'
  | 'message'
  | 'labels'
  | 'selector'
  | 'priority'
  | 'queueTimeoutSeconds'
  | 'maxAttempts'
  | 'attempt'
  | 'runnerId'
  | 'createdAt'
  | 'claimedAt'
  | 'startedAt'
  | 'finishedAt'
  | 'meteredMs'
  | 'selfReportedMs'
  | 'logBytes'
  | 'logMissing';

export interface RunRow extends Pick<WorkItem, Shown> {
  readonly spec: RunSpec;
  readonly runnerName: string | null;
  /** The stored output is not the announced one, also after it was sent again. */
  readonly logMismatch: boolean;
  readonly cancelRequested: boolean;
}

/** The row of a run as it is from its submission until a runner claims it. */
export function newRow(
  made: Pick<RunRow, 'id' | 'teamId' | 'spec' | 'labels' | 'createdAt' | keyof Placement>,
): RunRow {
  return {
    ...made,
    state: 'queued',
    reason: null,
    exitCode: null,
    message: null,
    attempt: 0,
    runnerId: null,
    runnerName: null,
    claimedAt: null,
    startedAt: null,
    finishedAt: null,
    meteredMs: null,
    selfReportedMs: null,
    logBytes: 0,
    logMissing: 0,
    logMismatch: false,
    cancelRequested: false,
  };
}

const columns = (sql: SqlTag) => sql`
  w.id, w.team_id as "teamId", w.state, w.reason, w.exit_code as "exitCode", w.message, w.spec - 'sealed' as spec, w.labels, w.attempt,
  w.selector, w.priority, w.queue_timeout_seconds as "queueTimeoutSeconds", w.max_attempts as "maxAttempts",
  w.runner_id as "runnerId", r.name as "runnerName", w.created_at as "createdAt", w.claimed_at as "claimedAt", w.started_at as "startedAt",
  w.finished_at as "finishedAt", w.metered_ms as "meteredMs", w.self_reported_ms as "selfReportedMs", w.log_bytes as "logBytes",
  w.log_missing as "logMissing", w.log_mismatch and not w.log_complete as "logMismatch",
  w.cancel_requested_at is not null as "cancelRequested"`;

export async function findRun(sql: SqlTag, scope: TeamScope, id: string): Promise<RunRow | undefined> {
  const [row] = await sql<RunRow[]>`
    select ${columns(sql)} from work_items w left join runners r on r.id = w.runner_id
    where w.id = ${id} and w.kind = 'run' and w.team_id = any(${scope.teamIds}::text[])`;
  return row;
}

export interface RunFilter {
  readonly teamId: string;
  /** It is empty for any state. */
  readonly states: readonly WorkState[];
  readonly take: number;
  /** Creation time and id of the last row of the page before. */
  readonly after: { readonly createdAt: string; readonly id: string } | undefined;
}

/**
 * Returns runs, newest first. The order is spelled with `nulls last` as the index has it, or every page sorts
 * all runs of the team.
 */
export async function listRuns(
  sql: SqlTag,
  scope: TeamScope,
  { teamId, states, take, after }: RunFilter,
): Promise<readonly RunRow[]> {
  const behind =
    after === undefined
      ? sql``
      : sql`and (w.created_at, w.id) < (${after.createdAt}::timestamptz, ${after.id})`;
  const only = states.length === 0 ? sql`` : sql`and w.state = any(${[...states]}::text[])`;
  return await sql<RunRow[]>`
    select ${columns(sql)} from work_items w left join runners r on r.id = w.runner_id
    where w.team_id = ${requireTeam(scope, teamId)} and w.kind = 'run' ${behind} ${only}
    order by w.created_at desc nulls last, w.id desc nulls last limit ${take}::int`;
}

/** Returns runs that have not ended, as `currentItems` selects them. */
export async function currentRuns(
  sql: SqlTag,
  scope: TeamScope,
  { teamId, take }: { readonly teamId: string; readonly take: number },
): Promise<readonly RunRow[]> {
  const current = currentItems(sql, { teamId: requireTeam(scope, teamId), kind: 'run', take });
  return await sql<RunRow[]>`
    select ${columns(sql)} from work_items w left join runners r on r.id = w.runner_id where w.id in (${current})`;
}

const UINT32_MAX = 4_294_967_295;

export function toMessage(row: RunRow, waiting?: Waiting): SandboxRun {
  // Its fields are named: what is added to a spec is not shown by itself, and a copy of an object that JSON
  // made costs as much memory as all else of an answer.
  const { purpose, image, command, workdir, envNames, network, isolation, limits } = row.spec;
  return shown(SandboxRunSchema, row, {
    purpose,
    image,
    command,
    workdir,
    envNames,
    network,
    isolation,
    limits,
    runner: shownSelector(row.selector),
    logMissingBytes: Math.min(row.logMissing, UINT32_MAX),
    waiting,
  });
}
