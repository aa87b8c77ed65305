/**
 * GitHub Actions sends `workflow_run` and `workflow_job`, and `status` comes from systems that post commit
 * statuses. An `action` is no status and is not read.
 */
import {
  at,
  attemptOf,
  header,
  idOf,
  isEnd,
  listOf,
  meanings,
  orderOfTime,
  shaOf,
  statusOf,
  text,
  timeOf,
  urlOf,
  type Meaning,
} from '../read.ts';
import type { Normalise, Provider, Reported } from '../types.ts';
import { headerId, verifyBodyHmac } from '../authenticate.ts';

const ofStatus = meanings({ queued: 'requested queued pending', blocked: 'waiting', running: 'in_progress' });

const ofConclusion = meanings({
  success: 'success neutral',
  failed: 'failure',
  timed_out: 'timed_out',
  startup: 'startup_failure',
  cancelled: 'cancelled',
  skipped: 'skipped',
  stale: 'stale',
  // A run of a fork that waits for approval is reported as completed.
  blocked: 'action_required',
});

const ofCommitState = meanings({ running: 'pending', success: 'success', failed: 'failure', error: 'error' });

/** Contexts of the statuses that we post ourselves. */
const OWN_CONTEXT = /^svc\//i;

export const normalise: Normalise = (headers, payload) => {
  const event = header(headers, 'x-github-event') ?? guess(payload);
  if (event === 'workflow_run') return ofRun(payload);
  if (event === 'workflow_job') return ofJob(payload);
  if (event === 'status') return ofCommitStatus(payload);
  return { ignored: `event ${text(event) ?? 'without a name'}` };
};

/** Names the event of a stored payload by its field. */
function guess(payload: unknown): string | undefined {
  return ['workflow_job', 'workflow_run'].find((name) => typeof at(payload, name, 'id') === 'number');
}

function meaning(status: string | undefined, conclusion: string | undefined): Meaning {
  return status === 'completed' ? ofConclusion(conclusion) : ofStatus(status);
}

function repositoryOf(payload: unknown) {
  return {
    id: idOf(at(payload, 'repository', 'id')),
    name: text(at(payload, 'repository', 'full_name')),
  };
}

function ofRun(payload: unknown): Reported {
  const run = (key: string) => at(payload, 'workflow_run', key);
  const id = idOf(run('id'));
  if (id === undefined) return { ignored: 'workflow_run without an id' };
  const [status, conclusion] = [text(run('status')), text(run('conclusion'))];
  if (status === undefined) return { ignored: 'workflow_run without a status' };
  const means = meaning(status, conclusion);
  const attempt = attemptOf(run('run_attempt'));
  return {
    repository: repositoryOf(payload),
    run: { externalRunId: id, externalAttempt: attempt },
    event: {
      order: orderOfTime(run('updated_at')),
      final: true,
      ...statusOf(means, status, conclusion),
      facts: {
        name: text(run('name')) ?? text(at(payload, 'workflow', 'name')),
        file: text(run('path') ?? at(payload, 'workflow', 'path'))?.replace(/@.*$/, ''),
        commitSha: shaOf(run('head_sha')),
        branch: isOfFork(payload) ? undefined : text(run('head_branch')),
        mergeQueueOf: queueOf(payload),
        event: text(run('event')),
        // Stays that of the first attempt when a run is run again.
        queuedAt: attempt === 1 ? timeOf(run('created_at')) : undefined,
        startedAt: means.status === 'queued' ? undefined : timeOf(run('run_started_at')),
        finishedAt: isEnd(means) ? timeOf(run('updated_at')) : undefined,
        url: urlOf(run('html_url')),
        actor: text(at(run('triggering_actor'), 'login') ?? at(run('actor'), 'login')),
      },
    },
  };
}

/** Queues of other services build a pull request of their own, whose branch does not hold the base. */
const QUEUES = /^(?:mergify\/merge-queue|trunk-merge)\//;

function queueOf(payload: unknown): string | undefined {
  const [run, branch] = [at(payload, 'workflow_run'), text(at(payload, 'workflow_run', 'head_branch'))];
  const [pull] = listOf(at(run, 'pull_requests'));
  const isQueue = branch !== undefined && QUEUES.test(branch) && !isOfFork(payload);
  return isQueue ? text(at(pull, 'base', 'ref')) : undefined;
}

/** Its branch is one of another repository, whatever it is called; a fork that is gone is null. */
function isOfFork(payload: unknown): boolean {
  const head = at(payload, 'workflow_run', 'head_repository');
  const [theirs, ours] = [idOf(at(head, 'id')), repositoryOf(payload).id];
  return head === null || (theirs !== undefined && ours !== undefined && theirs !== ours);
}

function ofJob(payload: unknown): Reported {
  const job = (key: string) => at(payload, 'workflow_job', key);
  const [id, runId] = [idOf(job('id')), idOf(job('run_id'))];
  if (id === undefined || runId === undefined) return { ignored: 'workflow_job without its ids' };
  const [status, conclusion] = [text(job('status')), text(job('conclusion'))];
  if (status === undefined) return { ignored: 'workflow_job without a status' };
  const means = meaning(status, conclusion);
  return {
    repository: repositoryOf(payload),
    run: { externalRunId: runId, externalAttempt: attemptOf(job('run_attempt')) },
    event: {
      // Its branch is left out, because a job does not say whether that is one of a fork.
      facts: { name: text(job('workflow_name')), commitSha: shaOf(job('head_sha')) },
    },
    jobs: [
      {
        externalJobId: id,
        name: text(job('name')) ?? id,
        ...statusOf(means, status, conclusion),
        order: orderOfTime(at(payload, 'deployment', 'updated_at')),
        facts: {
          url: urlOf(job('html_url')),
          // Set on queued jobs too, when nothing has started.
          startedAt: means.status === 'queued' ? undefined : timeOf(job('started_at')),
          finishedAt: isEnd(means) ? timeOf(job('completed_at')) : undefined,
        },
      },
    ],
  };
}

function ofCommitStatus(payload: unknown): Reported {
  const context = text(at(payload, 'context'));
  const [sha, state] = [shaOf(at(payload, 'sha')), text(at(payload, 'state'))];
  if (context === undefined || sha === undefined || state === undefined)
    return { ignored: 'status without context, commit or state' };
  if (OWN_CONTEXT.test(context)) return { ignored: 'a commit status that was posted from here' };
  const means = ofCommitState(state);
  const branches = listOf(at(payload, 'branches')).map((branch) => text(at(branch, 'name')));
  const updatedAt = at(payload, 'updated_at') ?? at(payload, 'created_at');
  return {
    repository: repositoryOf(payload),
    run: { externalRunId: `${sha}:${context.toLowerCase().slice(0, 400)}`, externalAttempt: 1 },
    event: {
      order: orderOfTime(updatedAt),
      ...statusOf(means, state),
      facts: {
        name: context,
        commitSha: sha,
        // A commit may be in many; none of them is more its branch than the others.
        branch: branches.length === 1 ? branches[0] : undefined,
        event: 'status',
        finishedAt: isEnd(means) ? timeOf(updatedAt) : undefined,
        url: urlOf(at(payload, 'target_url')),
        actor: text(at(payload, 'sender', 'login')),
      },
    },
  };
}

/** `X-Hub-Signature`, with SHA-1, is not looked at. */
export const verify: Provider['verify'] = (delivery) => verifyBodyHmac(delivery, 'X-Hub-Signature-256');

export const deliveryId: Provider['deliveryId'] = (headers, rawBody) =>
  headerId(headers, rawBody, 'X-GitHub-Delivery');
