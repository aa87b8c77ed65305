/**
 * CircleCI sends `workflow-completed` and `job-completed`. There are no events of starts; a job that reports
 * itself gives those.
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
} from '../read.ts';
import type { Normalise, Provider } from '../types.ts';
import { anyMatches, digestId, hexDigest, hmac, refuse, withSecrets } from '../authenticate.ts';

const ofStatus = meanings({
  success: 'success',
  failed: 'failed',
  error: 'error',
  unauthorized: 'unauthorized',
  cancelled: 'canceled',
});

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
    const means = ofStatus(status);
    return {
      ...base,
      event: {
        ...statusOf(means, status),
        order: orderOfTime(happenedAt),
        final: true,
        facts: { ...facts, finishedAt: timeOf(workflow('stopped_at')) ?? timeOf(happenedAt) },
      },
    };
  }
  const job = (key: string) => at(payload, 'job', key);
  const [jobId, status] = [idOf(job('id')), text(job('status'))];
  if (jobId === undefined) return { ignored: 'job-completed without a job' };
  const means = ofStatus(status);
  return {
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

/** Verifies `v1=<hex>,v2=…`. The newest known version is v1, and the others are not looked at. */
export const verify: Provider['verify'] = withSecrets(({ secrets, headers, rawBody }) => {
  const versions = (header(headers, 'circleci-signature') ?? '').split(',').map((part) => part.trim());
  const given = versions.filter((version) => version.startsWith('v1='));
  const digest = given.length === 1 ? hexDigest(given[0]?.slice(3)) : undefined;
  if (digest === undefined) return refuse('circleci-signature has not one v1');
  return anyMatches(secrets, digest, (secret) => hmac(secret, rawBody));
});

export const deliveryId: Provider['deliveryId'] = (_headers, rawBody, payload) =>
  idOf(at(payload(), 'id')) ?? digestId(rawBody);
