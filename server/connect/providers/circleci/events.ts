/**
 * CircleCI sends `workflow-completed` and `job-completed`. There are no events of starts; a job that reports
 * itself gives those.
 */
import {
  at,
  CANCELLED,
  ERROR,
  FAILED,
  idOf,
  isEnd,
  meaningOf,
  orderOfTime,
  refOf,
  shaOf,
  statusOf,
  SUCCESS,
  text,
  timeOf,
  urlOf,
} from '../read.ts';
import type { Meanings } from '../read.ts';
import type { Normalise } from '../types.ts';

const STATUSES: Meanings = {
  success: SUCCESS,
  failed: FAILED,
  error: ERROR,
  unauthorized: { status: 'failed', reason: 'unauthorized' },
  canceled: CANCELLED,
};

export const normalise: Normalise = (_headers, payload) => {
  const type = text(at(payload, 'type'));
  if (type !== 'workflow-completed' && type !== 'job-completed')
    return { ignored: `event ${type ?? 'without a type'}` };
  const workflow = (key: string) => at(payload, 'workflow', key);
  const id = idOf(workflow('id'));
  if (id === undefined) return { ignored: `${type} without a workflow` };
  const base = {
    repository: {
      id: idOf(at(payload, 'project', 'id')),
      name: nameOfSlug(text(at(payload, 'project', 'slug'))),
    },
    run: { externalRunId: id, externalAttempt: 1 },
    aliases: [],
  };
  const happenedAt = at(payload, 'happened_at');
  const facts = {
    ...commitOf(payload),
    name: text(workflow('name')),
    url: urlOf(workflow('url')),
    queuedAt: timeOf(workflow('created_at')),
    event: text(at(payload, 'pipeline', 'trigger', 'type')),
  };
  if (type === 'workflow-completed') {
    const status = text(workflow('status'));
    const means = meaningOf(STATUSES, status);
    return {
      kind: 'run',
      ...base,
      event: {
        ...statusOf(means, status),
        order: orderOfTime(happenedAt),
        final: true,
        facts: { ...facts, finishedAt: timeOf(workflow('stopped_at')) ?? timeOf(happenedAt) },
      },
      jobs: [],
    };
  }
  const job = (key: string) => at(payload, 'job', key);
  const [jobId, status] = [idOf(job('id')), text(job('status'))];
  if (jobId === undefined) return { ignored: 'job-completed without a job' };
  const means = meaningOf(STATUSES, status);
  return {
    kind: 'jobs',
    ...base,
    event: { facts },
    jobs: [
      {
        externalJobId: jobId,
        name: text(job('name')) ?? jobId,
        ...statusOf(means, status),
        order: orderOfTime(happenedAt),
        facts: {
          startedAt: timeOf(job('started_at')),
          finishedAt: isEnd(means) ? timeOf(job('stopped_at')) : undefined,
        },
      },
    ],
  };
};

/** The commit is in `vcs` for some hosts of code, in the parameters of the trigger for the others. */
function commitOf(payload: unknown) {
  const vcs = at(payload, 'pipeline', 'vcs');
  const git = at(payload, 'pipeline', 'trigger_parameters', 'git');
  const { branch, tag } = refOf(at(vcs, 'branch') ?? at(git, 'branch'));
  return {
    commitSha: shaOf(at(vcs, 'revision')) ?? shaOf(at(git, 'checkout_sha')),
    branch,
    tag: text(at(vcs, 'tag')) ?? text(at(git, 'tag')) ?? tag,
    actor:
      text(at(payload, 'pipeline', 'trigger_parameters', 'circleci', 'actor_login')) ??
      text(at(git, 'commit_author_name')),
  };
}

/** Reads `acme/app` for `gh/acme/app` and `github/acme/app`; `circleci/<id>/<id>` names no repository. */
function nameOfSlug(slug: string | undefined): string | undefined {
  return slug === undefined || slug.startsWith('circleci/') ? undefined : slug.replace(/^[^/]*\//, '');
}
