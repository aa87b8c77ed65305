/**
 * Azure Pipelines tells changes of run, stage and job, which name no commit, and the older `build.complete`,
 * which does.
 */
import {
  at,
  header,
  idOf,
  isEnd,
  meanings,
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
import { anySame, digestId, refuse, verifyToken, withSecrets } from '../authenticate.ts';

const ofState = meanings({
  queued: 'notStarted waiting pending',
  running: 'inProgress running canceling cancelling',
});

const ofResult = meanings({
  success: 'succeeded',
  soft: 'partiallySucceeded succeededWithIssues',
  failed: 'failed',
  rejected: 'rejected',
  cancelled: 'canceled stopped',
  skipped: 'skipped',
});

export const normalise: Normalise = (_headers, payload) => {
  const type = text(at(payload, 'eventType')) ?? 'without a type';
  if (type === 'build.complete') return ofBuild(payload);
  if (/^ms\.vss-pipelines\.job-state-changed-event$/.test(type)) return ofJob(payload);
  // A stage's event has the same fields of the run as the run's own.
  if (/^ms\.vss-pipelines\.(run|stage)-state-changed-event$/.test(type)) return ofRun(payload);
  return { ignored: `event ${type}` };
};

function meaning(state: string | undefined, result: string | undefined): Meaning {
  return state === 'completed' ? ofResult(result) : ofState(state);
}

function baseOf(payload: unknown, id: string) {
  return {
    repository: { id: idOf(at(payload, 'resourceContainers', 'project', 'id')), name: undefined },
    run: { externalRunId: id, externalAttempt: 1 },
  };
}

function ofRun(payload: unknown): Reported {
  const run = (key: string) => at(payload, 'resource', 'run', key);
  const [id, state, result] = [idOf(run('id')), text(run('state')), text(run('result'))];
  if (id === undefined || state === undefined) return { ignored: 'run without id or state' };
  const means = meaning(state, result);
  return {
    ...baseOf(payload, id),
    event: {
      ...statusOf(means, state, result),
      order: orderOfTime(at(payload, 'createdDate')),
      facts: {
        ...factsOf(payload),
        queuedAt: timeOf(run('createdDate')),
        finishedAt: isEnd(means) ? timeOf(run('finishedDate')) : undefined,
      },
    },
  };
}

function factsOf(payload: unknown) {
  const resource = at(payload, 'resource');
  return {
    name: text(at(resource, 'pipeline', 'name')) ?? text(at(resource, 'run', 'pipeline', 'name')),
    // In events of stages and jobs the run often has no link of its own.
    url: pageOf(payload, 'run') ?? pageOf(payload, 'stage') ?? pageOf(payload, 'job'),
  };
}

function pageOf(payload: unknown, part: 'run' | 'stage' | 'job'): string | undefined {
  return urlOf(at(payload, 'resource', part, '_links', 'web', 'href'));
}

function ofJob(payload: unknown): Reported {
  const job = (key: string) => at(payload, 'resource', 'job', key);
  const id = idOf(at(payload, 'resource', 'run', 'id'));
  const [name, state, result] = [text(job('name')), text(job('state')), text(job('result'))];
  if (id === undefined || name === undefined || state === undefined)
    return { ignored: 'job without its run, name or state' };
  const means = meaning(state, result);
  const stage = text(at(payload, 'resource', 'stage', 'name'));
  return {
    ...baseOf(payload, id),
    event: { facts: factsOf(payload) },
    jobs: [
      {
        // Their ids may be all zeros.
        externalJobId: `${stage ?? ''}/${name}`,
        name,
        ...statusOf(means, state, result),
        order: orderOfTime(at(payload, 'createdDate')),
        facts: {
          stage,
          startedAt: timeOf(job('startTime')),
          finishedAt: isEnd(means) ? timeOf(job('finishTime')) : undefined,
          url: pageOf(payload, 'job'),
        },
      },
    ],
  };
}

function ofBuild(payload: unknown): Reported {
  const build = (key: string) => at(payload, 'resource', key);
  const id = idOf(build('id'));
  // In version 2 of the resource `status` is `completed` and the result has a field of its own.
  const [status, result] = [text(build('status')), text(build('result'))];
  if (id === undefined || status === undefined) return { ignored: 'build without id or status' };
  return {
    ...baseOf(payload, id),
    event: {
      ...statusOf(meaning('completed', result ?? status), status, result),
      order: orderOfTime(at(payload, 'createdDate')),
      facts: {
        name: text(at(build('definition'), 'name')),
        ...sourceOf(payload),
        event: text(build('reason')),
        queuedAt: timeOf(build('queueTime')),
        startedAt: timeOf(build('startTime')),
        finishedAt: timeOf(build('finishTime')),
        url: urlOf(at(build('_links'), 'web', 'href')) ?? urlOf(build('url')),
        actor: text(at(build('requestedFor'), 'displayName')),
      },
    },
  };
}

/**
 * Reads commit and branch. For a pull request a merge is built that nobody pushed; its head and its branch
 * are in the fields of the trigger.
 */
function sourceOf(payload: unknown) {
  const build = (key: string) => at(payload, 'resource', key);
  const pr = (key: string) => at(build('triggerInfo'), `pr.${key}`);
  const [, ref = text(build('sourceBranch')), sha] =
    /^[A-Z]+:([^:]+):(\w+)$/.exec(text(build('sourceGetVersion')) ?? '') ?? [];
  const built = shaOf(sha ?? build('sourceVersion'));
  const head = shaOf(pr('sourceSha'));
  if (head === undefined && ref?.startsWith('refs/pull/') !== true)
    return { commitSha: built, ...refOf(ref) };
  const isOfFork = /^true$/i.test(text(pr('isFork')) ?? '');
  return { commitSha: head, builtSha: built, ...(isOfFork ? {} : refOf(pr('sourceBranch'))) };
}

/**
 * Azure signs nothing: the subscription sends Basic credentials, or (scheme `token`) a header of its own if
 * it was given one.
 */
export const TOKEN_HEADER = 'X-Svc-Webhook-Token';
/** The credentials of a secret that is a password alone. */
const USER = 'svc';

export const verify: Provider['verify'] = withSecrets((delivery) => {
  if (delivery.scheme === 'token' && header(delivery.headers, TOKEN_HEADER) !== undefined)
    return verifyToken(delivery, TOKEN_HEADER);
  const [, encoded] =
    /^Basic ([A-Za-z0-9+/]+={0,2})$/i.exec(header(delivery.headers, 'Authorization') ?? '') ?? [];
  if (encoded === undefined) return refuse('no Basic credentials');
  const credentials = delivery.secrets.map((secret) => (secret.includes(':') ? secret : `${USER}:${secret}`));
  return anySame(credentials, Buffer.from(encoded, 'base64').toString());
});

export const deliveryId: Provider['deliveryId'] = (_headers, rawBody, payload) =>
  idOf(at(payload(), 'id')) ?? digestId(rawBody);
