/** A build as its rows have it, and as callers see it. The only file of the feature that reads them. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { BuildState, BuildTrigger } from '@svc/proto/gen/svc/builds/v1/builds_pb.ts';
import type { BuildSchema } from '@svc/proto/gen/svc/builds/v1/builds_pb.ts';
import { BuildTypeSchema } from '@svc/proto/gen/svc/environments/v1/environments_pb.ts';
import { enumNumber } from '../../platform/resource/index.ts';
import type { Environment } from '../../apps/environments/index.ts';
import type { TeamScope } from '../../platform/context.ts';
import type { SqlTag } from '../../platform/db/index.ts';
import type { Waiting } from '../runners/index.ts';
import { DEPLOYING, END_REASONS, PUBLISHING } from '../work/index.ts';
import type { EndReasonWord, WorkState } from '../work/index.ts';

export type StoredState = 'open' | 'awaiting_approval' | 'succeeded' | 'failed' | 'cancelled';
export type StateWord = Exclude<StoredState, 'open'> | 'queued' | 'running' | 'publishing' | 'deploying';

export interface PhaseRow {
  readonly phase: number;
  readonly startedAt: string;
  readonly finishedAt: string | null;
  readonly selfReportedMs: number | null;
}

export interface BuildRow {
  readonly id: string;
  readonly teamId: string;
  readonly environmentId: string;
  readonly number: number;
  readonly state: StoredState;
  readonly trigger: 'manual' | 'rollback';
  readonly rollbackOf: string | null;
  readonly branch: string;
  readonly commit: string | null;
  readonly buildType: Environment['buildType'];
  readonly image: string | null;
  readonly digest: string | null;
  readonly address: string | null;
  readonly approval: 'none' | 'required' | 'approved' | 'rejected';
  readonly needsDecision: boolean;
  readonly message: string | null;
  readonly workId: string;
  readonly traceId: string;
  readonly createdAt: Date;
  readonly finishedAt: Date | null;
  /** Of the item that stands for it; null while there is none. */
  readonly workState: WorkState | null;
  readonly workPhase: number | null;
  readonly cancelRequested: boolean;
  /** Another build holds its environment. */
  readonly environmentBusy: boolean;
  readonly reason: EndReasonWord | null;
  readonly exitCode: number | null;
  readonly workMessage: string | null;
  readonly runnerId: string | null;
  readonly runnerName: string | null;
  /** Over all its items. */
  readonly attempt: number;
  readonly startedAt: Date | null;
  readonly meteredMs: number | null;
  readonly logBytes: number;
  readonly logMissing: number;
  readonly logDiffers: boolean;
  readonly phases: readonly PhaseRow[];
}

export const BUILD_STATES: Readonly<Record<StateWord, BuildState>> = {
  queued: BuildState.QUEUED,
  running: BuildState.RUNNING,
  publishing: BuildState.PUBLISHING,
  deploying: BuildState.DEPLOYING,
  awaiting_approval: BuildState.AWAITING_APPROVAL,
  succeeded: BuildState.SUCCEEDED,
  failed: BuildState.FAILED,
  cancelled: BuildState.CANCELLED,
};

const TRIGGERS: Readonly<Record<BuildRow['trigger'], BuildTrigger>> = {
  manual: BuildTrigger.MANUAL,
  rollback: BuildTrigger.ROLLBACK,
};

/** Runner and time of an item that has not begun yet are those of the item before it. */
const selectBuilds = (sql: SqlTag) => sql`
  select b.id, b.team_id as "teamId", b.environment_id as "environmentId", b.number, b.state, b.trigger, b.rollback_of as "rollbackOf", b.branch,
    b.commit, b.build_type as "buildType", b.image, b.digest, b.address, b.approval, b.needs_decision as "needsDecision", b.message,
    b.work_id as "workId", b.trace_id as "traceId", b.created_at as "createdAt", b.finished_at as "finishedAt",
    w.state as "workState", w.phase as "workPhase", coalesce(w.cancel_requested_at is not null and w.finished_at is null, false) as "cancelRequested",
    exists (select from builds o where o.environment_id = b.environment_id and o.number < b.number and o.finished_at is null) as "environmentBusy", w.reason, w.exit_code as "exitCode", w.message as "workMessage",
    r.id as "runnerId", r.name as "runnerName",
    coalesce(t.attempt, 0)::int as attempt, t.started_at as "startedAt", t.metered_ms as "meteredMs", coalesce(t.log_bytes, 0)::int as "logBytes",
    least(coalesce(t.log_missing, 0), 4294967295)::bigint as "logMissing", coalesce(t.log_differs, false) as "logDiffers",
    coalesce(p.phases, '[]') as phases
  from builds b
  left join work_items w on w.id = b.work_id
  left join lateral (
    select sum(x.attempt) as attempt, min(x.started_at) as started_at, least(sum(x.metered_ms), 2147483647)::int as metered_ms,
      sum(x.log_bytes) as log_bytes, sum(x.log_missing) as log_missing, bool_or(x.log_mismatch and not x.log_complete) as log_differs,
      (array_agg(x.runner_id order by x.created_at desc, x.id desc) filter (where x.runner_id is not null))[1] as runner_id
    from work_items x where x.build_id = b.id
  ) t on true
  left join runners r on r.id = t.runner_id
  left join lateral (
    select jsonb_agg(jsonb_build_object('phase', q.phase, 'startedAt', q.started_at, 'finishedAt', q.finished_at, 'selfReportedMs', q.self_reported_ms)
      order by x.created_at, x.id, q.phase) as phases
    from work_items x join build_phases q on q.work_id = x.id and q.epoch = x.epoch where x.build_id = b.id
  ) p on true`;

export async function findBuild(
  sql: SqlTag,
  scope: TeamScope,
  { environmentId, buildId }: { readonly environmentId: string; readonly buildId: string },
): Promise<BuildRow | undefined> {
  const [row] = await sql<BuildRow[]>`
    ${selectBuilds(sql)}
    where b.id = ${buildId} and b.environment_id = ${environmentId} and b.team_id = any(${[...scope.teamIds]}::text[])`;
  return row;
}

/** Newest first. */
export async function listBuilds(
  sql: SqlTag,
  { id, teamId }: { readonly id: string; readonly teamId: string },
  { take, before }: { readonly take: number; readonly before: number | undefined },
): Promise<readonly BuildRow[]> {
  const behind = before === undefined ? sql`` : sql`and b.number < ${before}::int`;
  return await sql<BuildRow[]>`
    ${selectBuilds(sql)}
    where b.environment_id = ${id} and b.team_id = ${teamId} ${behind}
    order by b.number desc limit ${take}::int`;
}

/** Where a build stands: its row says it when it waits for a person or has ended, its item otherwise. */
export function stateOf({
  state,
  workState,
  workPhase,
}: Pick<BuildRow, 'state' | 'workState' | 'workPhase'>): StateWord {
  if (state !== 'open') return state;
  if (workState !== 'running') return 'queued';
  return workPhase === DEPLOYING ? 'deploying' : workPhase === PUBLISHING ? 'publishing' : 'running';
}

/** The field if there is a value: absent fields stay absent. */
function some<K extends string, V>(key: K, value: V | null | undefined): { readonly [k in K]?: V } {
  return value === null || value === undefined ? {} : ({ [key]: value } as { readonly [k in K]: V });
}

const at = (date: Date | null) => (date === null ? null : timestampFromDate(date));

/** What is to be said of its end. Of one that a person ended after its item had done its part, the item's end says nothing. */
function endOf(row: BuildRow) {
  if (row.finishedAt === null) return {};
  const byPerson = row.state === 'cancelled' && row.workState !== 'cancelled';
  const reason = byPerson ? 'cancelled' : row.reason;
  return {
    ...some('reason', reason === null ? null : END_REASONS[reason]),
    ...(byPerson ? {} : some('exitCode', row.exitCode)),
    ...some('message', row.message ?? (byPerson ? null : row.workMessage)),
    ...some('meteredMs', row.meteredMs),
  };
}

export function toMessage(row: BuildRow, waiting?: Waiting): MessageInitShape<typeof BuildSchema> {
  const phase = row.workPhase || (row.phases.at(-1)?.phase ?? 0);
  return {
    id: row.id,
    environmentId: row.environmentId,
    teamId: row.teamId,
    number: row.number,
    state: BUILD_STATES[stateOf(row)],
    ...(phase === 0 ? {} : { phase }),
    phases: row.phases.map((each) => ({
      phase: each.phase,
      startedAt: timestampFromDate(new Date(each.startedAt)),
      ...some('finishedAt', at(each.finishedAt === null ? null : new Date(each.finishedAt))),
      ...some('selfReportedMs', each.selfReportedMs),
    })),
    trigger: TRIGGERS[row.trigger],
    ...some('rollbackOf', row.rollbackOf),
    branch: row.branch,
    ...some('commit', row.commit),
    buildType: enumNumber(BuildTypeSchema, row.buildType),
    ...some('image', row.image),
    ...some('digest', row.digest),
    ...some('address', row.address),
    attempt: row.attempt,
    ...some('runnerId', row.runnerId),
    ...some('runnerName', row.runnerName),
    ...endOf(row),
    needsDecision: row.needsDecision,
    createdAt: timestampFromDate(row.createdAt),
    ...some('startedAt', at(row.startedAt)),
    ...some('finishedAt', at(row.finishedAt)),
    logBytes: row.logBytes,
    logMissingBytes: row.logMissing,
    logMismatch: row.logDiffers,
    cancelRequested: row.cancelRequested,
    ...some('waiting', waiting),
  };
}
