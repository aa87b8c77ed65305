/** GitLab: Pipeline Hook and Job Hook. A retried pipeline keeps its id and is opened again. */
import type { JobEvent } from '../../jobs-store.ts';
import {
  at,
  BLOCKED,
  CANCELLED,
  FAILED,
  header,
  idOf,
  isEnd,
  listOf,
  meaningOf,
  msOf,
  QUEUED,
  refOf,
  RUNNING,
  shaOf,
  SKIPPED,
  SUCCESS,
  text,
  timeOf,
  urlOf,
  wordsOf,
} from '../read.ts';
import type { Meaning, Words } from '../read.ts';
import type { Ignored, News, Normalise } from '../types.ts';

const STATUSES: Words = {
  created: QUEUED,
  waiting_for_resource: QUEUED,
  preparing: QUEUED,
  waiting_for_callback: QUEUED,
  pending: QUEUED,
  scheduled: QUEUED,
  manual: BLOCKED,
  running: RUNNING,
  canceling: RUNNING,
  success: SUCCESS,
  failed: FAILED,
  canceled: CANCELLED,
  skipped: SKIPPED,
};

/** GitLab's reasons that have a word of ours; the others stay as they are. */
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

function ofPipeline(payload: unknown): News | Ignored {
  const pipeline = (key: string) => at(payload, 'object_attributes', key);
  const [id, status] = [idOf(pipeline('id')), text(pipeline('status'))];
  if (id === undefined || status === undefined) return { ignored: 'pipeline without id or status' };
  const means = meaningOf(STATUSES, status);
  const builds = listOf(at(payload, 'builds'));
  const mergeRequest = text(at(payload, 'merge_request', 'source_branch'));
  const starts = builds.flatMap((build) => timeOf(at(build, 'started_at')) ?? []).sort();
  return {
    kind: 'run',
    repository: repositoryOf(at(payload, 'project', 'id'), at(payload, 'project', 'path_with_namespace')),
    run: { externalRunId: id, externalAttempt: 1 },
    aliases: [],
    event: {
      ...wordsOf(means, status),
      order: orderOf(builds),
      facts: {
        name: text(pipeline('name')) ?? text(at(payload, 'project', 'path_with_namespace')),
        file: text(at(payload, 'project', 'ci_config_path')),
        commitSha: shaOf(pipeline('sha')),
        ...(mergeRequest === undefined
          ? refOf(pipeline('ref'), pipeline('tag') === true)
          : { branch: mergeRequest }),
        event: text(pipeline('source')),
        queuedAt: timeOf(pipeline('created_at')),
        startedAt: means.status === 'queued' ? undefined : starts[0],
        finishedAt: isEnd(means) ? timeOf(pipeline('finished_at')) : undefined,
        durationMs: isEnd(means) ? msOf(pipeline('duration')) : undefined,
        url: urlOf(pipeline('url')),
        actor: text(at(payload, 'user', 'username')),
      },
    },
    jobs: builds.flatMap(jobOfPipeline),
  };
}

/**
 * A pipeline has no time of its last change. Jobs that are run again get greater ids, and among the same jobs the number of those that are over only
 * grows: it tells a pipeline that ran until a manual job from one that has just begun.
 */
function orderOf(builds: readonly unknown[]): string {
  const ids = builds
    .map((build) => Number(at(build, 'id')))
    .filter((id) => Number.isSafeInteger(id) && id > 0);
  const over = builds.filter((build) => isEnd(meaningOf(STATUSES, text(at(build, 'status'))))).length;
  return `${Math.max(0, ...ids)}${String(over).padStart(4, '0')}`;
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
      ...wordsOf(means, status),
      facts: {
        stage: text(at(build, 'stage')),
        startedAt: timeOf(at(build, 'started_at')),
        finishedAt: isEnd(means) ? timeOf(at(build, 'finished_at')) : undefined,
        durationMs: isEnd(means) ? msOf(at(build, 'duration')) : undefined,
      },
    },
  ];
}

function ofJob(payload: unknown): News | Ignored {
  const job = (key: string) => at(payload, key);
  // `commit.id` is the pipeline, in payloads that have no `pipeline_id`.
  const pipelineId = idOf(job('pipeline_id')) ?? idOf(at(payload, 'commit', 'id'));
  const [id, status] = [idOf(job('build_id')), text(job('build_status'))];
  if (id === undefined || pipelineId === undefined || status === undefined)
    return { ignored: 'job without its ids or status' };
  const means = ofJobWord(status, job('build_allow_failure'), job('build_failure_reason'));
  const time = (name: string) => timeOf(job(`build_${name}_at_iso`)) ?? timeOf(job(`build_${name}_at`));
  return {
    kind: 'jobs',
    // `project_name` is for reading: "Gitlab Org / Gitlab Test".
    repository: repositoryOf(
      job('project_id'),
      at(payload, 'project', 'path_with_namespace') ?? at(payload, 'repository', 'homepage'),
    ),
    run: { externalRunId: pipelineId, externalAttempt: 1 },
    aliases: [],
    event: { facts: { commitSha: shaOf(job('sha')), ...refOf(job('ref'), job('tag') === true) } },
    jobs: [
      {
        externalJobId: id,
        name: text(job('build_name')) ?? id,
        ...wordsOf(means, status),
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
  const means = meaningOf(STATUSES, status);
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
