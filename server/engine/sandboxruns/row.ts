/** A sandbox run as its row has it, and as callers see it. The only file of the feature that knows column names. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { Purpose } from '@svc/proto/gen/svc/sandboxruns/v1/sandboxruns_pb.ts';
import type { SandboxRunSchema } from '@svc/proto/gen/svc/sandboxruns/v1/sandboxruns_pb.ts';
import type { SqlTag } from '../../platform/db/index.ts';
import type { Waiting } from '../runners/index.ts';
import { END_REASONS, ISOLATIONS, NETWORKS, RUN_STATES } from '../work/index.ts';
import type { EndReasonWord, RunSpec, WorkState } from '../work/index.ts';

export interface RunRow {
  readonly id: string;
  readonly team_id: string;
  readonly state: WorkState;
  readonly reason: EndReasonWord | null;
  readonly exit_code: number | null;
  readonly message: string | null;
  readonly spec: RunSpec;
  readonly labels: Readonly<Record<string, string>>;
  readonly attempt: number;
  readonly runner_id: string | null;
  readonly runner_name: string | null;
  readonly created_at: Date;
  readonly claimed_at: Date | null;
  readonly started_at: Date | null;
  readonly finished_at: Date | null;
  readonly metered_ms: number | null;
  readonly self_reported_ms: number | null;
  readonly log_bytes: number;
  readonly log_missing: number;
  /** The stored output is not the announced one, also after it was sent again. */
  readonly log_differs: boolean;
  readonly cancel_requested: boolean;
}

/** What a run is from its submission until somebody claims it. */
export function newRow({
  id,
  teamId,
  spec,
  labels,
  createdAt,
}: {
  readonly id: string;
  readonly teamId: string;
  readonly spec: RunSpec;
  readonly labels: Readonly<Record<string, string>>;
  readonly createdAt: Date;
}): RunRow {
  return {
    id,
    team_id: teamId,
    state: 'queued',
    reason: null,
    exit_code: null,
    message: null,
    spec,
    labels,
    attempt: 0,
    runner_id: null,
    runner_name: null,
    created_at: createdAt,
    claimed_at: null,
    started_at: null,
    finished_at: null,
    metered_ms: null,
    self_reported_ms: null,
    log_bytes: 0,
    log_missing: 0,
    log_differs: false,
    cancel_requested: false,
  };
}

const columns = (sql: SqlTag) => sql`
  w.id, w.team_id, w.state, w.reason, w.exit_code, w.message, w.spec - 'sealed' as spec, w.labels, w.attempt, w.runner_id, r.name as runner_name,
  w.created_at, w.claimed_at, w.started_at, w.finished_at, w.metered_ms, w.self_reported_ms, w.log_bytes, w.log_missing,
  w.log_mismatch and not w.log_complete as log_differs,
  w.cancel_requested_at is not null as cancel_requested`;

export async function findRun(
  sql: SqlTag,
  teamIds: readonly string[],
  id: string,
): Promise<RunRow | undefined> {
  const [row] = await sql<RunRow[]>`
    select ${columns(sql)} from work_items w left join runners r on r.id = w.runner_id
    where w.id = ${id} and w.kind = 'run' and w.team_id = any(${[...teamIds]}::text[])`;
  return row;
}

export interface RunFilter {
  readonly teamId: string;
  /** Empty: any. */
  readonly states: readonly WorkState[];
  readonly take: number;
  /** Creation time and id of the last row of the page before. */
  readonly after: { readonly createdAt: string; readonly id: string } | undefined;
}

/** Newest first; `nulls last` as the index has it, or every page sorts all runs of the team. */
export async function listRuns(
  sql: SqlTag,
  { teamId, states, take, after }: RunFilter,
): Promise<readonly RunRow[]> {
  const behind =
    after === undefined
      ? sql``
      : sql`and (w.created_at, w.id) < (${after.createdAt}::timestamptz, ${after.id})`;
  const only = states.length === 0 ? sql`` : sql`and w.state = any(${[...states]}::text[])`;
  return await sql<RunRow[]>`
    select ${columns(sql)} from work_items w left join runners r on r.id = w.runner_id
    where w.team_id = ${teamId} and w.kind = 'run' ${behind} ${only}
    order by w.created_at desc nulls last, w.id desc nulls last limit ${take}::int`;
}

/** The field if there is a value: absent fields stay absent. */
function some<K extends string, V>(key: K, value: V | null | undefined): { readonly [k in K]?: V } {
  return value === null || value === undefined ? {} : ({ [key]: value } as { readonly [k in K]: V });
}

const at = (date: Date | null) => (date === null ? null : timestampFromDate(date));

export function toMessage(row: RunRow, waiting?: Waiting): MessageInitShape<typeof SandboxRunSchema> {
  const { spec } = row;
  return {
    id: row.id,
    teamId: row.team_id,
    purpose: Purpose.AGENT_TASK,
    state: RUN_STATES[row.state],
    ...some('reason', row.reason === null ? null : END_REASONS[row.reason]),
    ...some('exitCode', row.exit_code),
    ...some('message', row.message),
    ...some('image', spec.image),
    command: [...spec.command],
    workdir: spec.workdir,
    envNames: [...spec.envNames],
    network: NETWORKS[spec.network],
    isolation: ISOLATIONS[spec.isolation],
    limits: { ...spec.limits },
    labels: { ...row.labels },
    attempt: row.attempt,
    ...some('runnerId', row.runner_id),
    ...some('runnerName', row.runner_name),
    createdAt: timestampFromDate(row.created_at),
    ...some('claimedAt', at(row.claimed_at)),
    ...some('startedAt', at(row.started_at)),
    ...some('finishedAt', at(row.finished_at)),
    ...some('meteredMs', row.metered_ms),
    ...some('selfReportedMs', row.self_reported_ms),
    logBytes: row.log_bytes,
    logMissingBytes: Math.min(row.log_missing, 4_294_967_295),
    logMismatch: row.log_differs,
    cancelRequested: row.cancel_requested,
    ...some('waiting', waiting),
  };
}
