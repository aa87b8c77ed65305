/**
 * Buildkite: builds and jobs. A payload may be newer than its event, so the state of the build counts and not
 * the event's name.
 */
import {
  at,
  attemptOf,
  header,
  idOf,
  isEnd,
  meanings,
  MEANINGS,
  orderOfTime,
  refOf,
  shaOf,
  statusOf,
  text,
  timeOf,
  urlOf,
  type Meaning,
} from '../read.ts';
import type { Normalise, Provider, Reported } from '../types.ts';
import {
  anyMatches,
  digestId,
  hexDigest,
  hmac,
  isFresh,
  refuse,
  withSecrets,
  verifyToken,
} from '../authenticate.ts';

const ofBuildState = meanings({
  queued: 'creating scheduled waiting',
  blocked: 'blocked',
  running: 'running failing started canceling',
  success: 'passed',
  failed: 'failed waiting_failed',
  cancelled: 'canceled',
  skipped: 'skipped not_run',
});

const ofJobState = meanings({
  queued: 'pending waiting limited limiting scheduled assigned accepted unblocked',
  blocked: 'blocked',
  running: 'running canceling timing_out',
  success: 'passed',
  failed: 'failed waiting_failed blocked_failed unblocked_failed',
  timed_out: 'timed_out',
  expired: 'expired',
  skipped: 'broken skipped',
  cancelled: 'canceled',
});

export const normalise: Normalise = (headers, payload) => {
  const event = text(at(payload, 'event')) ?? text(header(headers, 'x-buildkite-event')) ?? '';
  const [family] = event.split('.');
  const id = idOf(at(payload, 'build', 'id'));
  if (family !== 'build' && family !== 'job') return { ignored: `event ${event || 'without a name'}` };
  if (id === undefined) return { ignored: `${event} without a build` };
  return family === 'job' ? ofJob(payload, id) : ofBuild(payload, id);
};

function ofBuild(payload: unknown, id: string): Reported {
  const build = (key: string) => at(payload, 'build', key);
  const state = text(build('state'));
  if (state === undefined) return { ignored: 'build without a state' };
  // A blocked build keeps the state of what it did before: passed.
  const means = build('blocked') === true ? MEANINGS.blocked : ofBuildState(state);
  return {
    ...baseOf(payload, id),
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

function ofJob(payload: unknown, buildId: string): Reported {
  const job = (key: string) => at(payload, 'job', key);
  const id = idOf(job('id'));
  if (id === undefined) return { ignored: 'job without an id' };
  const state = text(job('state'));
  const means = jobMeaning(state, job('exit_status'), job('soft_failed') === true);
  return {
    ...baseOf(payload, buildId),
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
    state === 'finished'
      ? Number(exitStatus ?? 1) === 0
        ? MEANINGS.success
        : MEANINGS.failed
      : ofJobState(state);
  return isSoft && means.status === 'failed' ? { ...means, soft: true } : means;
}

function baseOf(payload: unknown, id: string) {
  return {
    // One repository may have several pipelines, whose ids say nothing about it.
    repository: { name: text(at(payload, 'pipeline', 'repository')) },
    run: { externalRunId: id, externalAttempt: 1 },
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

/** A token is enough only for connections that were set up with one. */
export const verify: Provider['verify'] = withSecrets((delivery) => {
  const { secrets, scheme, headers, rawBody, now } = delivery;
  if (scheme === 'token') return verifyToken(delivery, 'X-Buildkite-Token');
  const value = header(headers, 'X-Buildkite-Signature') ?? '';
  const [, timestamp = '', hex] =
    /^timestamp=(\d{1,12}),\s*signature=([0-9a-f]{64})$/i.exec(value.trim()) ?? [];
  const given = hexDigest(hex);
  if (given === undefined) return refuse('X-Buildkite-Signature is not timestamp=…,signature=…');
  if (!isFresh(Number(timestamp) * 1_000, now)) return refuse('its timestamp is not within 5 minutes');
  return anyMatches(secrets, given, (secret) => hmac(secret, `${timestamp}.`, rawBody));
});

export const deliveryId: Provider['deliveryId'] = (_headers, rawBody) => digestId(rawBody);
