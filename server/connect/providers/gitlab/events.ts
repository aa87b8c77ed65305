/** GitLab sends Pipeline Hook and Job Hook. A retried pipeline keeps its id and is opened again. */
import type { JobEvent } from '../event.ts';
import {
  at,
  header,
  idOf,
  isEnd,
  listOf,
  meanings,
  msOf,
  refOf,
  shaOf,
  statusOf,
  text,
  timeOf,
  urlOf,
  type Meaning,
} from '../read.ts';
import type { Normalise, Provider, Reported } from '../types.ts';
import { headerId, STANDARD_PREFIX, usable, verifyStandard, verifyToken } from '../authenticate.ts';

const ofStatus = meanings({
  queued: 'created waiting_for_resource preparing waiting_for_callback pending scheduled',
  blocked: 'manual',
  running: 'running canceling',
  success: 'success',
  failed: 'failed',
  cancelled: 'canceled',
  skipped: 'skipped',
});

/** GitLab's reasons that have a reason of ours; the others stay as they are. */
const REASONS: Readonly<Record<string, string>> = {
  job_execution_timeout: 'timed_out',
  stuck_or_timeout_failure: 'timed_out',
  runner_system_failure: 'error',
};

export const normalise: Normalise = (headers, payload) => {
  const kind = text(at(payload, 'object_kind')) ?? text(header(headers, 'x-gitlab-event'));
  if (kind === 'pipeline' || kind === 'Pipeline Hook') return ofPipeline(payload);
  if (kind === 'build' || kind === 'Job Hook') return ofJob(payload);
  return { ignored: `event ${kind ?? 'without a name'}` };
};

function ofPipeline(payload: unknown): Reported {
  const pipeline = (key: string) => at(payload, 'object_attributes', key);
  const [id, status] = [idOf(pipeline('id')), text(pipeline('status'))];
  if (id === undefined || status === undefined) return { ignored: 'pipeline without id or status' };
  const means = ofStatus(status);
  const all = at(payload, 'builds');
  // The order counts all jobs, also those that are too many to be kept.
  const builds: readonly unknown[] = Array.isArray(all) ? all : [];
  const starts = builds.flatMap((build) => timeOf(at(build, 'started_at')) ?? []).sort();
  return {
    repository: repositoryOf(at(payload, 'project', 'id'), at(payload, 'project', 'path_with_namespace')),
    run: { externalRunId: id, externalAttempt: 1 },
    event: {
      order: orderOf(builds, pipeline('finished_at')),
      ...statusOf(means, status),
      facts: {
        name: text(pipeline('name')) ?? text(at(payload, 'project', 'path_with_namespace')),
        file: text(at(payload, 'project', 'ci_config_path')),
        ...sourceOf(payload),
        event: text(pipeline('source')),
        queuedAt: timeOf(pipeline('created_at')),
        startedAt: means.status === 'queued' ? undefined : starts[0],
        finishedAt: isEnd(means) ? timeOf(pipeline('finished_at')) : undefined,
        durationMs: isEnd(means) ? msOf(pipeline('duration')) : undefined,
        url: urlOf(pipeline('url')),
        actor: text(at(payload, 'user', 'username')),
      },
    },
    jobs: listOf(builds).flatMap(jobOfPipeline),
  };
}

/** A merge request has its head built or a merge of it, and its branch may be one of a fork. */
function sourceOf(payload: unknown) {
  const pipeline = (key: string) => at(payload, 'object_attributes', key);
  const request = (key: string) => at(payload, 'merge_request', key);
  const sha = shaOf(pipeline('sha'));
  const branch = text(request('source_branch'));
  const ref = branch === undefined ? refOf(pipeline('ref'), pipeline('tag') === true) : { branch };
  if (branch === undefined && text(pipeline('source')) !== 'merge_request_event')
    return { commitSha: sha, ...ref };
  // A merge train builds a merge into the target, with what stands before it in the train.
  const isOfTrain = /^(?:refs\/)?merge-requests\/\d+\/train$/.test(text(pipeline('ref')) ?? '');
  const [theirs, ours] = [
    idOf(request('source_project_id')),
    idOf(at(payload, 'project', 'id') ?? request('target_project_id')),
  ];
  const isOfFork = theirs !== undefined && ours !== undefined && theirs !== ours;
  return {
    builtSha: sha,
    ...(isOfFork ? {} : ref),
    ...(isOfTrain ? { mergeQueueOf: text(request('target_branch')) } : {}),
  };
}

/**
 * A pipeline has no time of its last change. Jobs that are run again get greater ids, and among the same jobs
 * the number of those that are over grows until the pipeline ends: it distinguishes one that ran until a
 * manual job from one that has just begun. After that the end decides, which is anew each time, and behind it
 * how many jobs were begun and are over: triggers that are retried are not among the jobs, their retry begins
 * again what was skipped, and a manual job that is played keeps its id.
 */
function orderOf(builds: readonly unknown[], finishedAt: unknown): string {
  let [last, over, begun, done] = [0, 0, 0, 0];
  for (const build of builds) {
    const [id, status] = [Number(at(build, 'id')), text(at(build, 'status'))];
    if (Number.isSafeInteger(id)) last = Math.max(last, id);
    const isOver = isEnd(ofStatus(status));
    const isBegun = stepOf(status) === BEGUN;
    over += isOver ? 1 : 0;
    begun += isBegun ? 1 : 0;
    done += isOver && isBegun ? 1 : 0;
  }
  const digits = (count: number) => String(Math.min(count, COUNT_MAX)).padStart(4, '0');
  const end = secondsOf(finishedAt);
  return end === 0 ? `${last}${digits(over)}` : `${last}${ENDED}.${end}${digits(begun)}${digits(done)}`;
}

/**
 * Statuses of a job before it is begun, in the order in which it can become so: what was skipped may wait for
 * a person when the pipeline is retried.
 */
const BEFORE_BEGUN = ['created', 'skipped', 'scheduled', 'manual'];
const BEGUN = BEFORE_BEGUN.length;

function stepOf(status: string | undefined): number {
  const step = BEFORE_BEGUN.indexOf(status ?? '');
  return step === -1 ? BEGUN : step;
}

const COUNT_MAX = 9_998;
/** Stands in the place of the number of jobs that are over, and is greater. */
const ENDED = 9_999;

/** Hooks and answers have different precision. 0: it is absent; all since 2001 have ten digits. */
function secondsOf(time: unknown): number {
  return Math.floor(Date.parse(timeOf(time) ?? '1970-01-01') / 1_000);
}

/**
 * A job that was skipped or waited for a person may be run later under the same id, and has no time of that
 * until it starts.
 */
function orderOfJob(status: string | undefined, times: readonly unknown[]): string {
  return `${Math.max(...times.map(secondsOf))}.${stepOf(status)}`;
}

function jobOfPipeline(build: unknown): readonly JobEvent[] {
  const id = idOf(at(build, 'id'));
  if (id === undefined) return [];
  const status = text(at(build, 'status'));
  const means = ofJobWord(status, at(build, 'allow_failure'), at(build, 'failure_reason'));
  return [
    {
      externalJobId: id,
      name: text(at(build, 'name')) ?? id,
      ...statusOf(means, status),
      order: orderOfJob(status, [at(build, 'created_at'), at(build, 'started_at'), at(build, 'finished_at')]),
      facts: {
        stage: text(at(build, 'stage')),
        startedAt: timeOf(at(build, 'started_at')),
        finishedAt: isEnd(means) ? timeOf(at(build, 'finished_at')) : undefined,
        durationMs: isEnd(means) ? msOf(at(build, 'duration')) : undefined,
      },
    },
  ];
}

function ofJob(payload: unknown): Reported {
  const job = (key: string) => at(payload, key);
  // `commit.id` is the pipeline, in payloads that have no `pipeline_id`.
  const pipelineId = idOf(job('pipeline_id')) ?? idOf(at(payload, 'commit', 'id'));
  const [id, status] = [idOf(job('build_id')), text(job('build_status'))];
  if (id === undefined || pipelineId === undefined || status === undefined)
    return { ignored: 'job without its ids or status' };
  const means = ofJobWord(status, job('build_allow_failure'), job('build_failure_reason'));
  const time = (name: string) => timeOf(job(`build_${name}_at_iso`)) ?? timeOf(job(`build_${name}_at`));
  return {
    // `project_name` is for reading: "Gitlab Org / Gitlab Test".
    repository: repositoryOf(
      job('project_id'),
      at(payload, 'project', 'path_with_namespace') ?? at(payload, 'repository', 'homepage'),
    ),
    run: { externalRunId: pipelineId, externalAttempt: 1 },
    // It does not say whether the ref is that of a merge request.
    event: { facts: { builtSha: shaOf(job('sha')), ...refOf(job('ref'), job('tag') === true) } },
    jobs: [
      {
        externalJobId: id,
        name: text(job('build_name')) ?? id,
        ...statusOf(means, status),
        order: orderOfJob(status, [time('created'), time('started'), time('finished')]),
        facts: {
          stage: text(job('build_stage')),
          startedAt: time('started'),
          finishedAt: isEnd(means) ? time('finished') : undefined,
          durationMs: isEnd(means) ? msOf(job('build_duration')) : undefined,
        },
      },
    ],
  };
}

function ofJobWord(status: string | undefined, allowFailure: unknown, failureReason: unknown): Meaning {
  const means = ofStatus(status);
  if (means.status !== 'failed') return means;
  const why = text(failureReason);
  const reason = why === undefined || why === 'unknown_failure' ? undefined : (REASONS[why] ?? why);
  return {
    ...means,
    ...(reason === undefined ? {} : { reason }),
    ...(allowFailure === true ? { soft: true as const } : {}),
  };
}

function repositoryOf(id: unknown, name: unknown) {
  return { id: idOf(id), name: text(name) };
}

/** Signing secrets are `whsec_…`: one of them never passes as a token, and no token as one of them. */
export const verify: Provider['verify'] = (delivery) => {
  const signs = delivery.scheme !== 'token';
  const secrets = usable(delivery.secrets).filter((secret) => secret.startsWith(STANDARD_PREFIX) === signs);
  return signs
    ? verifyStandard({ ...delivery, secrets })
    : verifyToken({ ...delivery, secrets }, 'X-Gitlab-Token');
};

/** `X-Gitlab-Event-UUID` is one for all hooks of an event. */
export const deliveryId: Provider['deliveryId'] = (headers, rawBody) =>
  headerId(headers, rawBody, 'webhook-id', 'Idempotency-Key');
