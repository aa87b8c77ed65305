/**
 * Runs as they are recorded, under the lock of their row: by reports of CI jobs and by webhooks alike, in the
 * connection that the caller, the webhook or the job was found to have.
 */
// No TeamScope: records runs of a connection, which a webhook has, or was found within the teams of the call.
import { eq } from 'drizzle-orm';
import type { Database } from '../../base/db/index.ts';
import { newId } from '../../base/ids.ts';
import type { Connection } from '../connections/index.ts';
import { ensurePipeline } from '../pipelines/index.ts';
import type { CiEvent, RunName } from '../providers/index.ts';
import { acceptOfRun, isTerminal, NO_EVENTS, settle, type CiState, type Settled } from './accept.ts';
import { environmentsOfRun } from './environment.ts';
import { selectRuns, type Run, type RunRecording } from './run.ts';
import { closeJobs } from './record-jobs.ts';
import { holdNames, lockRun } from './run-names.ts';
import { viewOf, type RunView } from './run-view.ts';
import { isNamed } from './runs-store.ts';
import { ciRuns } from './schema.ts';

/** Finds a run for background work, whose jobs name the run themselves. */
export async function runById(db: Database, id: string): Promise<Run | undefined> {
  return (await selectRuns(db, eq(ciRuns.id, id)))[0];
}

/** Reads and locks the run, so that nobody else changes it before the end of the transaction. */
export async function lockNamed(
  db: Database,
  { id }: Pick<Connection, 'id'>,
  name: RunName,
): Promise<Run | undefined> {
  return (await selectRuns(db, isNamed(id, name)).for('no key update', { of: ciRuns }))[0];
}

export interface Recorded {
  readonly run: Run;
  readonly isNew: boolean;
  /** The outcome of each event, in their order. */
  readonly steps: readonly Step[];
}

/** The outcome of one event. */
export interface Step {
  readonly kind: 'accepted' | 'duplicate' | 'older' | 'over';
  /** It is undefined when the run was not there. */
  readonly before: Settled | undefined;
  readonly after: Settled;
}

/**
 * The events for a run as it is known; it may refuse, by throwing, what they contradict. Undefined: the run
 * is not there yet.
 */
export type EventsFor = (known: Run | undefined) => readonly CiEvent[];

/**
 * Makes the run if it is not there, and joins the events to what is known of it. `eventsFor` is asked while
 * the run is locked, so that of two reports that contradict each other one is refused.
 */
export async function recordEvents(
  recording: RunRecording,
  name: RunName,
  eventsFor: EventsFor,
): Promise<Recorded> {
  const { db, connection } = recording;
  await holdNames(db, connection);
  const stored = { ...name, externalRunId: await lockRun(db, connection.id, name) };
  const known = await lockNamed(db, connection, stored);
  if (known !== undefined) return await joinTo(recording, known, eventsFor(known));
  const { state, steps } = acceptAll(undefined, eventsFor(undefined));
  const made = await insertRun(recording, stored, state);
  if (made !== undefined) {
    await recording.follow(db, connection, { before: undefined, run: made });
    return { run: made, isNew: true, steps };
  }
  const theirs = await lockNamed(db, connection, stored); // Somebody else's first report was faster.
  if (theirs === undefined) throw new Error(`CI run ${stored.externalRunId} is neither there nor to be made`);
  return await joinTo(recording, theirs, eventsFor(theirs));
}

/** Joins the events to a run that is there, under whichever name by now. */
export async function recordEventsOf(
  recording: RunRecording,
  run: Run,
  eventsFor: (known: Run) => readonly CiEvent[],
): Promise<Recorded> {
  const { db, connection } = recording;
  await holdNames(db, connection);
  const externalRunId = await lockRun(db, connection.id, run);
  const locked = await lockNamed(db, connection, { ...run, externalRunId });
  if (locked === undefined) throw new Error(`CI run ${run.id} went away under its lock`);
  return await joinTo(recording, locked, eventsFor(locked));
}

async function joinTo(recording: RunRecording, run: Run, events: readonly CiEvent[]): Promise<Recorded> {
  const { state, steps } = acceptAll(run.state, events);
  const has = (kind: Step['kind']): boolean => steps.some((step) => step.kind === kind);
  // A run that was given up for lost and is reported again lives, also when the report has nothing new.
  if (has('accepted') || (run.lost && has('duplicate')))
    return { run: await rewriteRun(recording, { ...run, state }), isNew: false, steps };
  const { db, now } = recording;
  await db.sql`
    update ci_runs set heard_at = ${now}, poll_at = ${nextPollAt(run, now)} where id = ${run.id}`;
  return { run, isNew: false, steps };
}

function acceptAll(known: CiState | undefined, events: readonly CiEvent[]) {
  let state = known ?? NO_EVENTS;
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
export async function rewriteRun(recording: RunRecording, run: Run): Promise<Run> {
  const { db, connection, now } = recording;
  const view = viewOf(run.state, now, run);
  const placed = await placeOf(recording, run.state, view);
  await updateRun(db, { ...run, ...view, ...placed }, now);
  if (run.status !== view.status) await closeJobs(db, run.id, view);
  const after = (await runById(db, run.id)) ?? run;
  await recording.follow(db, connection, { before: run, run: after });
  return after;
}

/** The pipeline and the environments that the run stands in. */
async function placeOf(recording: RunRecording, state: CiState, { branch }: RunView) {
  const { name, file, environmentId } = settle(state).facts;
  const path = typeof file === 'string' ? file : '';
  const pipelineName = typeof name === 'string' ? name : path === '' ? 'default' : path;
  const pipelineId = await ensurePipeline(recording, { name: pipelineName, path });
  const [first = null, ...alsoIn] = await environmentsOfRun(recording.db, recording.connection, {
    environmentId: typeof environmentId === 'string' ? environmentId : null,
    branch,
  });
  return { pipelineId, environmentId: first, alsoIn };
}

/** Undefined when a run of this name is there already. */
async function insertRun(recording: RunRecording, name: RunName, state: CiState): Promise<Run | undefined> {
  const { db, connection, now } = recording;
  const { externalRunId, externalAttempt } = name;
  const v = viewOf(state, now);
  const { pipelineId, environmentId, alsoIn } = await placeOf(recording, state, v);
  const { sql } = db;
  const made = await sql<Array<{ id: string }>>`
    with made as (insert into ci_runs (id, team_id, connection_id, pipeline_id, external_run_id, external_attempt, environment_id, state, status,
      provider_status, provider_conclusion, blocked, soft, reason, trigger, commit_sha, branch, merge_queue, tag, external_url, actor, queued_at,
      started_at, finished_at, duration_ms, occurred_at, heard_at, poll_at, created_at, updated_at)
    values (${newId('cir', now.getTime())}, ${connection.teamId}, ${connection.id}, ${pipelineId}, ${externalRunId}, ${externalAttempt},
      ${environmentId}, ${sql.json(jsonOf(state))}, ${v.status}, ${v.providerStatus}, ${v.providerConclusion}, ${v.blocked}, ${v.soft},
      ${v.reason}, ${v.trigger}, ${v.commitSha}, ${v.branch}, ${v.mergeQueue}, ${v.tag}, ${v.externalUrl}, ${v.actor}, ${v.queuedAt},
      ${v.startedAt}, ${v.finishedAt}, ${v.durationMs}, ${v.occurredAt}, ${now}, ${nextPollAt(v, now)}, ${now}, ${now})
    on conflict (connection_id, external_run_id, external_attempt) do nothing returning team_id, id, occurred_at),
    places as (insert into ci_run_environments (team_id, run_id, environment_id, occurred_at)
      select m.team_id, m.id, e.id, m.occurred_at from made m, unnest(${alsoIn}::text[]) as e (id))
    select id from made`;
  const [row] = made;
  return row === undefined ? undefined : await runById(db, row.id);
}

async function updateRun({ sql }: Database, r: Run, now: Date): Promise<void> {
  await sql`
    with gone as (delete from ci_run_environments where run_id = ${r.id} and environment_id <> all(${[...r.alsoIn]}::text[])),
    run as (update ci_runs set external_run_id = ${r.externalRunId}, pipeline_id = ${r.pipelineId}, environment_id = ${r.environmentId}, state = ${sql.json(jsonOf(r.state))},
      status = ${r.status}, lost = false, provider_status = ${r.providerStatus}, provider_conclusion = ${r.providerConclusion},
      blocked = ${r.blocked}, soft = ${r.soft}, reason = ${r.reason}, trigger = ${r.trigger}, commit_sha = ${r.commitSha},
      branch = ${r.branch}, merge_queue = ${r.mergeQueue}, tag = ${r.tag}, external_url = ${r.externalUrl}, actor = ${r.actor}, queued_at = ${r.queuedAt},
      started_at = ${r.startedAt}, finished_at = ${r.finishedAt}, duration_ms = ${r.durationMs}, occurred_at = ${r.occurredAt},
      heard_at = ${now}, poll_at = ${nextPollAt(r, now)}, updated_at = ${now}
    where id = ${r.id} returning team_id, id, occurred_at)
    insert into ci_run_environments (team_id, run_id, environment_id, occurred_at)
    select run.team_id, run.id, e.id, run.occurred_at from run, unnest(${[...r.alsoIn]}::text[]) as e (id)
    on conflict (run_id, environment_id) do update set occurred_at = excluded.occurred_at
    where ci_run_environments.occurred_at <> excluded.occurred_at`;
}

/** Time that a run is silent before its provider is asked, and the interval at which it is asked then. */
export const POLL_EVERY_MS = 3_600_000;

/** A run that is over is not polled: null. */
function nextPollAt({ status }: Pick<Run, 'status'>, now: Date): Date | null {
  return isTerminal(status) ? null : new Date(now.getTime() + POLL_EVERY_MS);
}

const jsonOf = (state: CiState) => JSON.parse(JSON.stringify(state)) as Record<string, never>;
