/** Runs in the database: every read is limited to the teams of a TeamScope, every change happens under the lock of its row. */
import type { TeamScope } from '../../platform/context.ts';
import type { Database, SqlTag } from '../../platform/db/index.ts';
import { newId } from '../../platform/ids.ts';
import { acceptOfRun, isTerminal, NOTHING_HEARD, settle } from './accept.ts';
import type { CiEvent, CiState, CiStatus, Settled } from './accept.ts';
import { wantCommitStatus } from './commit-status/wanted.ts';
import type { Connection } from './model/connection.ts';
import type { Run, RunName } from './model/run.ts';
import { ensurePipeline } from './connections-store.ts';
import { environmentOfRun } from './environment.ts';
import { closeJobs } from './jobs-store.ts';
import { holdNames, lockRun, realId } from './run-names.ts';
import { viewOf } from './run-view.ts';
import type { RunView } from './run-view.ts';

/** Columns of `r`, and of its pipeline `p`. */
const columns = (sql: SqlTag) => sql`
  r.id, r.team_id as "teamId", r.connection_id as "connectionId", r.pipeline_id as "pipelineId", p.name as "pipelineName",
  r.external_run_id as "externalRunId", r.external_attempt as "externalAttempt", r.environment_id as "environmentId", r.state, r.lost,
  r.status, r.provider_status as "providerStatus", r.provider_conclusion as "providerConclusion", r.blocked, r.soft, r.reason, r.trigger,
  r.commit_sha as "commitSha", r.branch, r.tag, r.external_url as "externalUrl", r.actor, r.queued_at as "queuedAt",
  r.started_at as "startedAt", r.finished_at as "finishedAt", r.duration_ms::float8 as "durationMs", r.occurred_at as "occurredAt",
  r.created_at as "createdAt", r.updated_at as "updatedAt"`;
const tables = (sql: SqlTag) => sql`ci_runs r join ci_pipelines p on p.id = r.pipeline_id`;

/** For background work, whose jobs name the run themselves. */
export async function runById({ sql }: Database, id: string): Promise<Run | undefined> {
  const [row] = await sql<Run[]>`select ${columns(sql)} from ${tables(sql)} where r.id = ${id}`;
  return row;
}

export async function findRun({ sql }: Database, scope: TeamScope, id: string): Promise<Run | undefined> {
  // The id of a run that was joined into another one leads there.
  const [row] = await sql<Run[]>`
    select ${columns(sql)} from ${tables(sql)}
    where r.id = coalesce((select j.run_id from ci_run_joins j where j.id = ${id}), ${id}) and r.team_id = any(${[...scope.teamIds]})`;
  return row;
}

export async function findNamedRun(
  db: Database,
  connection: Connection,
  name: RunName,
): Promise<Run | undefined> {
  const externalRunId = await realId(db, connection.id, name.externalRunId);
  return await readNamed(db, connection, { ...name, externalRunId }, false);
}

export async function readNamed(
  { sql }: Database,
  { id }: Pick<Connection, 'id'>,
  { externalRunId, externalAttempt }: RunName,
  lock: boolean,
): Promise<Run | undefined> {
  const [row] = await sql<Run[]>`
    select ${columns(sql)} from ${tables(sql)}
    where r.connection_id = ${id} and r.external_run_id = ${externalRunId} and r.external_attempt = ${externalAttempt}
    ${lock ? sql`for no key update of r` : sql``}`;
  return row;
}

/** The last row of the page before. */
interface After {
  readonly at: Date;
  readonly id: string;
}

/** Newest first. */
export async function listRuns(
  { sql }: Database,
  { pipelineId, take, after }: { pipelineId: string; take: number; after: After | undefined },
): Promise<readonly Run[]> {
  const behind = after === undefined ? sql`` : sql`and (r.occurred_at, r.id) < (${after.at}, ${after.id})`;
  return await sql<Run[]>`
    select ${columns(sql)} from ${tables(sql)} where r.pipeline_id = ${pipelineId} ${behind}
    order by r.occurred_at desc nulls last, r.id desc nulls last limit ${take}`;
}

export interface Heard {
  readonly run: Run;
  readonly isNew: boolean;
  /** What became of each event, in their order. */
  readonly steps: readonly Step[];
}

/** What one event came to. */
export interface Step {
  readonly kind: 'accepted' | 'duplicate' | 'older' | 'over';
  /** Undefined: the run was not there. */
  readonly before: Settled | undefined;
  readonly after: Settled;
}

/**
 * Makes the run if it is not there, and joins what is said to what is known. `db` must be the handle of a transaction. `toKnown` gives what a run that is there is
 * told, or refuses, by throwing, what it contradicts; the run is locked then, so that of two who contradict each other one is refused.
 */
export async function hear(
  db: Database,
  connection: Connection,
  name: RunName,
  event: CiEvent | readonly CiEvent[],
  now: Date,
  toKnown?: (known: Run) => CiEvent,
): Promise<Heard> {
  const events = [event].flat();
  const joinChecked = async (known: Run): Promise<Heard> =>
    await joinTo(db, connection, known, toKnown === undefined ? events : [toKnown(known)], now);
  await holdNames(db, connection);
  const stored = { ...name, externalRunId: await lockRun(db, connection.id, name) };
  const known = await readNamed(db, connection, stored, true);
  if (known !== undefined) return await joinChecked(known);
  const { state, steps } = acceptAll(undefined, events);
  const made = await insertRun(db, connection, stored, state, now);
  if (made !== undefined) {
    await wantCommitStatus(db, connection, { before: undefined, run: made });
    return { run: made, isNew: true, steps };
  }
  const theirs = await readNamed(db, connection, stored, true); // Somebody else's first report was faster.
  if (theirs === undefined) throw new Error(`CI run ${stored.externalRunId} is neither there nor to be made`);
  return await joinChecked(theirs);
}

/** The same for a run that is there, under whichever name by now. */
export async function hearOf(
  db: Database,
  connection: Connection,
  run: Run,
  event: CiEvent | ((known: Run) => CiEvent),
  now: Date,
): Promise<Heard> {
  await holdNames(db, connection);
  const externalRunId = await lockRun(db, connection.id, run);
  const locked = await readNamed(db, connection, { ...run, externalRunId }, true);
  if (locked === undefined) throw new Error(`CI run ${run.id} went away under its lock`);
  return await joinTo(db, connection, locked, [typeof event === 'function' ? event(locked) : event], now);
}

async function joinTo(
  db: Database,
  connection: Connection,
  run: Run,
  events: readonly CiEvent[],
  now: Date,
): Promise<Heard> {
  const { state, steps } = acceptAll(run.state, events);
  const heard = (kind: Step['kind']): boolean => steps.some((step) => step.kind === kind);
  // What was given up for lost and is heard of again lives, also when it says nothing new.
  if (heard('accepted') || (run.lost && heard('duplicate'))) {
    const after = await rewriteRun(db, connection, { ...run, state }, now);
    return { run: after, isNew: false, steps };
  }
  await db.sql`
    update ci_runs set heard_at = ${now}, poll_at = ${nextPollAt(run, now)} where id = ${run.id}`;
  return { run, isNew: false, steps };
}

function acceptAll(known: CiState | undefined, events: readonly CiEvent[]) {
  let state = known ?? NOTHING_HEARD;
  let before = known === undefined ? undefined : settle(known);
  const steps: Step[] = [];
  for (const event of events) {
    const outcome = acceptOfRun(state, event);
    if (outcome.kind === 'accepted') ({ state } = outcome);
    const after = settle(state);
    steps.push({ kind: outcome.kind === 'accepted' ? outcome.kind : outcome.reason, before, after });
    before = after;
  }
  return { state, steps };
}

/** Brings a run's columns, place and jobs in line with its state. Its row is locked by the caller. */
export async function rewriteRun(db: Database, connection: Connection, run: Run, now: Date): Promise<Run> {
  const view = viewOf(run.state, now, run);
  const placed = await placeOf(db, connection, run.state, view, now);
  await updateRun(db, { ...run, ...view, ...placed }, now);
  if (run.status !== view.status) await closeJobs(db, run.id, view);
  const after = (await readNamed(db, connection, run, false)) ?? run;
  await wantCommitStatus(db, connection, { before: run, run: after });
  return after;
}

/** Pipeline and environment. */
async function placeOf(db: Database, connection: Connection, state: CiState, view: RunView, now: Date) {
  const { name, file, environmentId } = settle(state).facts;
  const path = typeof file === 'string' ? file : '';
  const pipelineName = typeof name === 'string' ? name : path === '' ? 'default' : path;
  return {
    pipelineId: await ensurePipeline(db, connection, { name: pipelineName, path }, now),
    environmentId: await environmentOfRun(db, connection, {
      environmentId: typeof environmentId === 'string' ? environmentId : null,
      branch: view.branch,
    }),
  };
}

async function insertRun(
  db: Database,
  connection: Connection,
  { externalRunId, externalAttempt }: RunName,
  state: CiState,
  now: Date,
): Promise<Run | undefined> {
  const v = viewOf(state, now);
  const { pipelineId, environmentId } = await placeOf(db, connection, state, v, now);
  const { sql } = db;
  const { count } = await sql`
    insert into ci_runs (id, team_id, connection_id, pipeline_id, external_run_id, external_attempt, environment_id, state, status,
      provider_status, provider_conclusion, blocked, soft, reason, trigger, commit_sha, branch, tag, external_url, actor, queued_at,
      started_at, finished_at, duration_ms, occurred_at, heard_at, poll_at, created_at, updated_at)
    values (${newId('cir', now.getTime())}, ${connection.teamId}, ${connection.id}, ${pipelineId}, ${externalRunId}, ${externalAttempt},
      ${environmentId}, ${sql.json(jsonOf(state))}, ${v.status}, ${v.providerStatus}, ${v.providerConclusion}, ${v.blocked}, ${v.soft},
      ${v.reason}, ${v.trigger}, ${v.commitSha}, ${v.branch}, ${v.tag}, ${v.externalUrl}, ${v.actor}, ${v.queuedAt}, ${v.startedAt},
      ${v.finishedAt}, ${v.durationMs}, ${v.occurredAt}, ${now}, ${nextPollAt(v, now)}, ${now}, ${now})
    on conflict (connection_id, external_run_id, external_attempt) do nothing`;
  if (count === 0) return undefined;
  return await readNamed(db, connection, { externalRunId, externalAttempt }, false);
}

async function updateRun({ sql }: Database, r: Run, now: Date): Promise<void> {
  await sql`
    update ci_runs set external_run_id = ${r.externalRunId}, pipeline_id = ${r.pipelineId}, environment_id = ${r.environmentId}, state = ${sql.json(jsonOf(r.state))},
      status = ${r.status}, lost = false, provider_status = ${r.providerStatus}, provider_conclusion = ${r.providerConclusion},
      blocked = ${r.blocked}, soft = ${r.soft}, reason = ${r.reason}, trigger = ${r.trigger}, commit_sha = ${r.commitSha},
      branch = ${r.branch}, tag = ${r.tag}, external_url = ${r.externalUrl}, actor = ${r.actor}, queued_at = ${r.queuedAt},
      started_at = ${r.startedAt}, finished_at = ${r.finishedAt}, duration_ms = ${r.durationMs}, occurred_at = ${r.occurredAt},
      heard_at = ${now}, poll_at = ${nextPollAt(r, now)}, updated_at = ${now}
    where id = ${r.id}`;
}

/** How long a run is silent before its provider is asked, and how often it is asked then. */
export const POLL_EVERY_MS = 3_600_000;

/** Null: it is over. */
function nextPollAt({ status }: Pick<Run, 'status'>, now: Date): Date | null {
  return isTerminal(status) ? null : new Date(now.getTime() + POLL_EVERY_MS);
}

const jsonOf = (state: CiState) => JSON.parse(JSON.stringify(state)) as Record<string, never>;

/** How a run stands for its jobs. */
export function isOver({ status }: { readonly status: CiStatus }): boolean {
  return isTerminal(status);
}
