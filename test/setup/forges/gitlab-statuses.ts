/**
 * Answers as GitLab's statuses of commits do: they are jobs of a pipeline, which do not move from a state to
 * itself.
 */
import { post, type Answer, type ForgeRequest, type Route } from './fake-forge.ts';
import type { FakeCommits } from './github-statuses.ts';

const STATES: ReadonlySet<unknown> = new Set(['pending', 'running', 'success', 'failed', 'canceled']);

export function gitlabStatuses(commits: FakeCommits): readonly Route[] {
  return [post(/^\/projects\/(?<path>.+)\/statuses\/(?<sha>[0-9a-f]+)$/, (asked) => answer(commits, asked))];
}

function answer(commits: FakeCommits, { headers, groups, body }: ForgeRequest): Answer {
  const { sha = '', path } = groups;
  const status = body as Record<string, unknown>;
  if (headers['private-token'] !== commits.token)
    return { status: 401, body: { message: '401 Unauthorized' } };
  if (path !== commits.path) return { status: 404, body: { message: '404 Project Not Found' } };
  if (!commits.shas.has(sha)) return { status: 404, body: { message: '404 Commit Not Found' } };
  if (!STATES.has(status['state']))
    return { status: 400, body: { error: 'state does not have a valid value' } };
  const last = commits.posted.findLast(
    (one) => one.sha === sha && one['name'] === status['name'] && one['ref'] === status['ref'],
  );
  if (last?.['state'] === status['state'])
    return {
      status: 400,
      body: {
        message: `Cannot transition status via :run from :${String(status['state'])} (Reason(s): Status cannot transition via "run")`,
      },
    };
  commits.posted.push({ sha, ...status });
  return { status: 201, body: { id: commits.posted.length, status: status['state'] } };
}
