/**
 * Buildkite: builds and jobs. A payload may be newer than its event, so the state of the build counts and not
 * the event's name.
 */
import {
  at,
  attemptOf,
  BLOCKED,
  CANCELLED,
  FAILED,
  header,
  idOf,
  isEnd,
  meaningOf,
  orderOfTime,
  QUEUED,
  refOf,
  RUNNING,
  shaOf,
  SKIPPED,
  statusOf,
  SUCCESS,
  text,
  TIMED_OUT,
  timeOf,
  urlOf,
} from '../read.ts';
import type { Meaning, Meanings } from '../read.ts';
import type { Ignored, RunReport, Normalise } from '../types.ts';

const BUILD: Meanings = {
  creating: QUEUED,
  scheduled: QUEUED,
  waiting: QUEUED,
  blocked: BLOCKED,
  running: RUNNING,
  failing: RUNNING,
  started: RUNNING,
  canceling: RUNNING,
  passed: SUCCESS,
  failed: FAILED,
  waiting_failed: FAILED,
  canceled: CANCELLED,
  skipped: SKIPPED,
  not_run: SKIPPED,
};

const JOB: Meanings = {
  pending: QUEUED,
  waiting: QUEUED,
  limited: QUEUED,
  limiting: QUEUED,
  scheduled: QUEUED,
  assigned: QUEUED,
  accepted: QUEUED,
  unblocked: QUEUED,
  blocked: BLOCKED,
  running: RUNNING,
  canceling: RUNNING,
  timing_out: RUNNING,
  passed: SUCCESS,
  failed: FAILED,
  timed_out: TIMED_OUT,
  waiting_failed: FAILED,
  blocked_failed: FAILED,
  unblocked_failed: FAILED,
  expired: { status: 'failed', reason: 'expired' },
  broken: SKIPPED,
  skipped: SKIPPED,
  canceled: CANCELLED,
};

export const normalise: Normalise = (headers, payload) => {
  const event = text(at(payload, 'event')) ?? text(header(headers, 'x-buildkite-event')) ?? '';
  const [family] = event.split('.');
  const id = idOf(at(payload, 'build', 'id'));
  if (family !== 'build' && family !== 'job') return { ignored: `event ${event || 'without a name'}` };
  if (id === undefined) return { ignored: `${event} without a build` };
  return family === 'job' ? ofJob(payload, id) : ofBuild(payload, id);
};

function ofBuild(payload: unknown, id: string): RunReport | Ignored {
  const build = (key: string) => at(payload, 'build', key);
  const state = text(build('state'));
  if (state === undefined) return { ignored: 'build without a state' };
  // A blocked build keeps the state of what it did before: passed.
  const means = build('blocked') === true ? BLOCKED : meaningOf(BUILD, state);
  return {
    ...baseOf('run', payload, id),
    event: {
      ...statusOf(means, state),
      order: orderOfBuild(payload),
      facts: {
        ...factsOf(payload),
        queuedAt: timeOf(build('scheduled_at')) ?? timeOf(build('created_at')),
        startedAt: timeOf(build('started_at')),
        finishedAt: isEnd(means) ? timeOf(build('finished_at')) : undefined,
      },
    },
    jobs: [],
  };
}

/**
 * Finds the latest time in the build itself. A build that is opened again has lost its end until it has a new
 * one, so it shows the end before until then; the result does not depend on what arrives when.
 */
function orderOfBuild(payload: unknown): string | undefined {
  return ['created_at', 'scheduled_at', 'started_at', 'failing_at', 'finished_at']
    .flatMap((name) => orderOfTime(at(payload, 'build', name)) ?? [])
    .sort()
    .at(-1);
}

function ofJob(payload: unknown, buildId: string): RunReport | Ignored {
  const job = (key: string) => at(payload, 'job', key);
  const id = idOf(job('id'));
  if (id === undefined) return { ignored: 'job without an id' };
  const state = text(job('state'));
  const means = jobMeaning(state, job('exit_status'), job('soft_failed') === true);
  return {
    ...baseOf('jobs', payload, buildId),
    event: { facts: factsOf(payload) },
    jobs: [
      {
        externalJobId: id,
        name: text(job('name')) ?? text(job('step_key')) ?? text(job('type')) ?? id,
        index: attemptOf(Number(job('retries_count') ?? 0) + 1) - 1,
        ...statusOf(means, state, idOf(job('exit_status'))),
        facts: {
          startedAt: timeOf(job('started_at')),
          finishedAt: isEnd(means) ? timeOf(job('finished_at')) : undefined,
          url: urlOf(job('web_url')),
        },
      },
    ],
  };
}

function jobMeaning(state: string | undefined, exitStatus: unknown, isSoft: boolean): Meaning {
  const means =
    state === 'finished' ? (Number(exitStatus ?? 1) === 0 ? SUCCESS : FAILED) : meaningOf(JOB, state);
  return isSoft && means.status === 'failed' ? { ...means, soft: true } : means;
}

function baseOf<K extends 'run' | 'jobs'>(kind: K, payload: unknown, id: string) {
  return {
    kind,
    // One repository may have several pipelines, whose ids say nothing about it.
    repository: { name: text(at(payload, 'pipeline', 'repository')) },
    run: { externalRunId: id, externalAttempt: 1 },
    aliases: [],
  };
}

function factsOf(payload: unknown) {
  const build = (key: string) => at(payload, 'build', key);
  return {
    name: text(at(payload, 'pipeline', 'slug')) ?? text(at(payload, 'pipeline', 'name')),
    // May be the symbolic HEAD, which is no commit yet.
    commitSha: shaOf(build('commit')),
    ...refOf(build('branch')),
    ...(text(build('tag')) === undefined ? {} : { tag: text(build('tag')) }),
    event: text(build('source')),
    url: urlOf(build('web_url')),
    actor: text(at(build('creator'), 'name')) ?? text(at(build('author'), 'name')),
  };
}
