/** Jobs as they are recorded. Their run's row is locked by whoever changes them. */
// No TeamScope: records runs of a connection, which a webhook has, or was found within the teams of the call.
import { and, eq, sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/pg-core';
import { apiError } from '@svc/proto/http/errors.ts';
import type { Database } from '../../base/db/index.ts';
import { newId } from '../../base/ids.ts';
import type { Recording } from '../pipelines/index.ts';
import type { JobEvent } from '../providers/index.ts';
import { accept, isTerminal, join, NO_EVENTS, settle, type CiState } from './accept.ts';
import { selectJobs, type Job } from './jobs-store.ts';
import { dateOf, textOf, type RunView } from './run-view.ts';
import { ciJobs } from './schema.ts';

/** A matrix of GitHub has at most 256 legs; a run with more jobs than this is a mistake. */
export const JOBS_PER_RUN_MAX = 5_000;

/** Two kinds of keys that can never meet. */
function keyOf({ externalJobId, name, index = 0 }: JobEvent): string {
  return typeof externalJobId === 'string' && externalJobId !== ''
    ? `id ${externalJobId}`
    : `at ${index} ${name}`;
}

type RunOfJobs = Pick<RunView, 'status' | 'finishedAt'> & { readonly id: string; readonly teamId: string };

export interface RecordedJobs {
  /** The jobs in the order of the events, each once. */
  readonly jobs: readonly Job[];
  /** Events that changed a job. */
  readonly accepted: ReadonlySet<JobEvent>;
}

/** Adds jobs or moves them on, in one statement. */
export async function recordJobs(
  { db, now }: Pick<Recording, 'db' | 'now'>,
  run: RunOfJobs,
  events: readonly JobEvent[],
): Promise<RecordedJobs> {
  const keys = [...new Set(events.map(keyOf))];
  const accepted = new Set<JobEvent>();
  if (keys.length === 0) return { jobs: [], accepted };
  const ofKeys = and(eq(ciJobs.runId, run.id), sql`${ciJobs.key} = any(${sql.param(keys)}::text[])`);
  const { id: jobId, key: jobKey, state: jobState } = ciJobs;
  const known = await db.orm.select({ id: jobId, key: jobKey, state: jobState }).from(ciJobs).where(ofKeys);
  await checkCount(db, run.id, keys.length - known.length);
  const states = new Map<string, CiState>(known.map(({ key, state }) => [key, state]));
  const last = new Map<string, JobEvent>();
  for (const event of events) {
    const key = keyOf(event);
    const outcome = accept(states.get(key) ?? NO_EVENTS, event);
    if (outcome.kind === 'accepted') {
      states.set(key, outcome.state);
      accepted.add(event);
    }
    last.set(key, event);
  }
  const ids = new Map(known.map(({ key, id }) => [key, id]));
  const rows = keys.map((key, n) => ({
    // Ids sort by their millisecond: one each, so that jobs of one call stay in its order.
    id: ids.get(key) ?? newId('cij', now.getTime() + n),
    key,
    ...rowOf(run, last.get(key), states.get(key) ?? NO_EVENTS),
  }));
  await upsert({ db, now }, run, rows);
  const byKey = new Map((await selectJobs(db, ofKeys)).map((job) => [job.key, job]));
  return { jobs: keys.flatMap((key) => byKey.get(key) ?? []), accepted };
}

async function checkCount({ orm }: Database, runId: string, more: number): Promise<void> {
  if (more <= 0) return;
  const n = await orm.$count(ciJobs, eq(ciJobs.runId, runId));
  if (n + more <= JOBS_PER_RUN_MAX) return;
  throw apiError(
    'limit_reached',
    `the run has ${n} jobs and ${more} more were reported, at most ${JOBS_PER_RUN_MAX} are kept`,
    { details: { limit: JOBS_PER_RUN_MAX, current: n } },
  );
}

function rowOf(run: RunOfJobs, event: JobEvent | undefined, state: CiState) {
  const { facts, status: ownStatus, reason, ...settled } = settle(state);
  const closed = isTerminal(run.status) && !isTerminal(ownStatus) && !settled.blocked;
  const startedAt = dateOf(facts.startedAt);
  const finishedAt = closed ? run.finishedAt : dateOf(facts.finishedAt);
  const ms = startedAt !== null && finishedAt !== null ? finishedAt.getTime() - startedAt.getTime() : null;
  return {
    external_job_id: event?.externalJobId ?? null,
    name: textOf(facts.name) ?? event?.name ?? '',
    index: event?.index ?? 0,
    state,
    own_status: ownStatus,
    status: closed ? run.status : ownStatus,
    reason: closed ? RUN_ENDED : reason,
    provider_status: settled.providerStatus,
    provider_conclusion: settled.providerConclusion,
    blocked: settled.blocked,
    soft: settled.soft,
    stage: textOf(facts.stage),
    external_url: textOf(facts.url),
    started_at: startedAt,
    finished_at: finishedAt,
    duration_ms: typeof facts.durationMs === 'number' ? facts.durationMs : ms !== null && ms >= 0 ? ms : null,
  };
}

const RUN_ENDED = 'run_ended';

async function upsert(
  { db: { sql }, now }: Pick<Recording, 'db' | 'now'>,
  { id, teamId }: RunOfJobs,
  rows: ReadonlyArray<Record<string, unknown>>,
): Promise<void> {
  const json = sql.json(JSON.parse(JSON.stringify(rows)) as never);
  await sql`
    insert into ci_jobs (id, team_id, run_id, key, external_job_id, name, index, state, own_status, status, reason, provider_status,
      provider_conclusion, blocked, soft, stage, external_url, started_at, finished_at, duration_ms, created_at)
    select j.id, ${teamId}, ${id}, j.key, j.external_job_id, j.name, j.index, j.state, j.own_status, j.status, j.reason, j.provider_status,
      j.provider_conclusion, j.blocked, j.soft, j.stage, j.external_url, j.started_at, j.finished_at, j.duration_ms, ${now}
    from jsonb_to_recordset(${json}::jsonb) as j (id text, key text, external_job_id text, name text, index int, state jsonb,
      own_status text, status text, reason text, provider_status text, provider_conclusion text, blocked boolean, soft boolean, stage text,
      external_url text, started_at timestamptz, finished_at timestamptz, duration_ms bigint)
    on conflict (run_id, key) do update set name = excluded.name, state = excluded.state, own_status = excluded.own_status,
      status = excluded.status, reason = excluded.reason, provider_status = excluded.provider_status,
      provider_conclusion = excluded.provider_conclusion, blocked = excluded.blocked, soft = excluded.soft, stage = excluded.stage,
      external_url = excluded.external_url, started_at = excluded.started_at, finished_at = excluded.finished_at,
      duration_ms = excluded.duration_ms`;
}

/**
 * Moves the jobs of a run that turned out to be another one. A job that both have is joined, under the id
 * that it has at the run that stays.
 */
export async function moveJobs(
  { db, now }: Pick<Recording, 'db' | 'now'>,
  from: Pick<RunOfJobs, 'id'>,
  to: RunOfJobs,
): Promise<void> {
  const { orm } = db;
  const others = alias(ciJobs, 'others');
  const both = await orm
    .select({ job: ciJobs, other: others.state })
    .from(ciJobs)
    .innerJoin(others, and(eq(others.runId, from.id), eq(others.key, ciJobs.key)))
    .where(eq(ciJobs.runId, to.id));
  const rows = both.map(({ job: { id, key, state, externalJobId, name, index }, other }) => ({
    id,
    key,
    ...rowOf(to, { externalJobId, name, index, facts: {} }, join(state, other)),
  }));
  if (rows.length > 0) await upsert({ db, now }, to, rows);
  await db.sql`
    update ci_jobs f set run_id = ${to.id}
    where f.run_id = ${from.id} and not exists (select from ci_jobs t where t.run_id = ${to.id} and t.key = f.key)`;
  // Jobs that moved were open or closed as their run was.
  await closeJobs(db, to.id, to);
}

/**
 * Open jobs of a run that ended get its status; they open again with it. A job that waits for a person is no
 * orphan: it was optional, and may be started at any time.
 */
export async function closeJobs(
  { sql }: Database,
  runId: string,
  { status, finishedAt }: Pick<RunView, 'status' | 'finishedAt'>,
): Promise<void> {
  if (isTerminal(status)) {
    await sql`
      update ci_jobs set status = ${status}, reason = ${RUN_ENDED}, finished_at = ${finishedAt}
      where run_id = ${runId} and own_status in ('queued', 'running') and not blocked`;
    return;
  }
  await sql`
    update ci_jobs set status = own_status, reason = null, finished_at = null
    where run_id = ${runId} and own_status in ('queued', 'running') and status <> own_status`;
}
