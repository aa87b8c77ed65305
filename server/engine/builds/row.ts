/** A build as its rows have it, and as callers see it. The only file of the feature that reads them. */
// No TeamScope: fragments of statements that take a TeamScope.
import { BuildSchema, type Build } from '@svc/proto/gen/svc/builds/v1/builds_pb.ts';
import { requireTeam } from '../../kit/authorise.ts';
import type { TeamScope } from '../../kit/context.ts';
import type { SqlTag } from '../../base/db/index.ts';
import { shown } from '../../kit/resource/index.ts';
import type { Waiting } from '../runners/index.ts';
import {
  currentItems,
  DEPLOYING,
  PUBLISHING,
  shownSelector,
  type Placement,
  type WorkItem,
  type WorkState,
} from '../work/index.ts';
import type { builds } from './schema.ts';
import { BUILD_PLACEMENT } from './spec.ts';

export type StateWord =
  | Exclude<BuildRow['state'], 'open'>
  | 'queued'
  | 'running'
  | 'publishing'
  | 'deploying';

export interface PhaseRow {
  readonly phase: number;
  readonly startedAt: string;
  readonly finishedAt: string | null;
  readonly selfReportedMs: number | null;
}

/**
 * The row has what its item says, the one that stands for it; null while there is none. Runner, attempts,
 * times and output are over all of its items.
 */
export interface BuildRow
  extends
    Omit<typeof builds.$inferSelect, 'approvalBy' | 'approvalAt' | 'deployRunnerId'>,
    Pick<WorkItem, 'reason' | 'exitCode' | 'runnerId' | 'attempt' | 'startedAt' | 'meteredMs' | 'logBytes'> {
  readonly workState: WorkState | null;
  readonly workPhase: number | null;
  readonly workMessage: string | null;
  /** Placement of that item. */
  readonly placement: Placement | null;
  readonly cancelRequested: boolean;
  /** Another build holds its environment. */
  readonly environmentBusy: boolean;
  readonly runnerName: string | null;
  readonly logMissingBytes: number;
  readonly logMismatch: boolean;
  readonly phases: readonly PhaseRow[];
}

/** Runner and time of an item that has not begun yet are those of the item before it. */
const selectBuilds = (sql: SqlTag) => sql`
  select b.id, b.team_id as "teamId", b.environment_id as "environmentId", b.number, b.state, b.trigger, b.rollback_of as "rollbackOf", b.branch,
    b.commit, b.build_type as "buildType", b.image, b.digest, b.tag, b.address, b.approval, b.needs_decision as "needsDecision", b.message,
    b.work_id as "workId", b.trace_id as "traceId", b.created_by as "createdBy", b.created_at as "createdAt", b.finished_at as "finishedAt",
    w.state as "workState", w.phase as "workPhase", coalesce(w.cancel_requested_at is not null and w.finished_at is null, false) as "cancelRequested",
    exists (select from builds o where o.environment_id = b.environment_id and o.number < b.number and o.finished_at is null) as "environmentBusy", w.reason, w.exit_code as "exitCode", w.message as "workMessage",
    case when w.id is not null then jsonb_build_object('selector', w.selector, 'priority', w.priority,
      'queueTimeoutSeconds', w.queue_timeout_seconds, 'maxAttempts', w.max_attempts) end as placement,
    r.id as "runnerId", r.name as "runnerName",
    coalesce(t.attempt, 0)::int as attempt, t.started_at as "startedAt", t.metered_ms as "meteredMs", coalesce(t.log_bytes, 0)::int as "logBytes",
    least(coalesce(t.log_missing, 0), 4294967295)::bigint as "logMissingBytes", coalesce(t.log_differs, false) as "logMismatch",
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
    where b.id = ${buildId} and b.environment_id = ${environmentId} and b.team_id = any(${scope.teamIds}::text[])`;
  return row;
}

/** Returns builds by their ids; those that are gone are missing. */
export async function findBuilds(
  sql: SqlTag,
  scope: TeamScope,
  ids: readonly string[],
): Promise<ReadonlyMap<string, BuildRow>> {
  if (ids.length === 0) return new Map();
  const rows = await sql<BuildRow[]>`
    ${selectBuilds(sql)}
    where b.id = any(${[...ids]}::text[]) and b.team_id = any(${scope.teamIds}::text[])`;
  return new Map(rows.map((row) => [row.id, row]));
}

/** Returns builds whose item has not ended, as `currentItems` selects them. */
export async function currentBuilds(
  sql: SqlTag,
  scope: TeamScope,
  { teamId, take }: { readonly teamId: string; readonly take: number },
): Promise<readonly BuildRow[]> {
  const current = currentItems(sql, { teamId: requireTeam(scope, teamId), kind: 'build', take });
  return await sql<BuildRow[]>`
    ${selectBuilds(sql)}
    where b.team_id = ${teamId} and b.id in (select i.build_id from work_items i where i.id in (${current}))`;
}

/** Returns builds, newest first. */
export async function listBuilds(
  sql: SqlTag,
  { id, teamId }: { readonly id: string; readonly teamId: string },
  {
    take,
    before,
    skip = 0,
  }: { readonly take: number; readonly before?: number | undefined; readonly skip?: number },
): Promise<readonly BuildRow[]> {
  const behind = before === undefined ? sql`` : sql`and b.number < ${before}::int`;
  return await sql<BuildRow[]>`
    ${selectBuilds(sql)}
    where b.environment_id = ${id} and b.team_id = ${teamId} ${behind}
    order by b.number desc limit ${take}::int offset ${skip}::bigint`;
}

/** Returns builds of a team, of all its environments, that are in the state, newest first. */
export async function listTeamBuilds(
  sql: SqlTag,
  scope: TeamScope,
  { teamId, state, take, before }: TeamBuilds,
): Promise<readonly BuildRow[]> {
  const isOpen = state !== undefined && isStateOfItem(state);
  const ofRow = state === undefined ? sql`` : sql`and b.state = ${isOpen ? 'open' : state}`;
  const ofItem = isOpen ? sql`and ${stateOfItem(sql)} = ${state}` : sql``;
  const behind = before === undefined ? sql`` : sql`and b.id < ${before}`;
  return await sql<BuildRow[]>`
    ${selectBuilds(sql)}
    where b.team_id = ${requireTeam(scope, teamId)} ${ofRow} ${ofItem} ${behind}
    order by b.id desc limit ${take}::int`;
}

interface TeamBuilds {
  readonly teamId: string;
  /** Default: any. */
  readonly state: string | undefined;
  readonly take: number;
  /** Id of the last build of the page before. */
  readonly before: string | undefined;
}

/** Its item says it; there are few such builds, as limits of waiting and running work bound them. */
const isStateOfItem = (state: string): boolean =>
  ['queued', 'running', 'publishing', 'deploying'].includes(state);

/** The state of an open build, as `stateOf` finds it. */
const stateOfItem = (sql: SqlTag) => sql`
  case when w.state is distinct from 'running' then 'queued' when w.phase = ${DEPLOYING}::int then 'deploying'
    when w.phase = ${PUBLISHING}::int then 'publishing' else 'running' end`;

/**
 * Finds out where a build stands. Its row says it when it waits for a person or has ended, its item
 * otherwise.
 */
export function stateOf({
  state,
  workState,
  workPhase,
}: Pick<BuildRow, 'state' | 'workState' | 'workPhase'>): StateWord {
  if (state !== 'open') return state;
  if (workState !== 'running') return 'queued';
  return workPhase === DEPLOYING ? 'deploying' : workPhase === PUBLISHING ? 'publishing' : 'running';
}

/**
 * What is to be said of its end. Of one that a person ended after its item had done its part, the item's end
 * says nothing.
 */
function endOf(row: BuildRow) {
  const nothing = { reason: null, exitCode: null, message: null, meteredMs: null };
  if (row.finishedAt === null) return nothing;
  const { meteredMs, message } = row;
  if (row.state === 'cancelled' && row.workState !== 'cancelled')
    return { ...nothing, meteredMs, message, reason: 'cancelled' };
  return { meteredMs, reason: row.reason, exitCode: row.exitCode, message: message ?? row.workMessage };
}

export function toMessage(row: BuildRow, waiting?: Waiting): Build {
  const { selector, ...placement } = row.placement ?? BUILD_PLACEMENT;
  return shown(BuildSchema, row, {
    ...endOf(row),
    ...placement,
    runner: shownSelector(selector),
    state: stateOf(row),
    // 0: its item has begun none.
    phase: row.workPhase || row.phases.at(-1)?.phase,
    phases: row.phases.map((phase) => ({
      ...phase,
      startedAt: new Date(phase.startedAt),
      finishedAt: phase.finishedAt === null ? null : new Date(phase.finishedAt),
    })),
    waiting,
  });
}
