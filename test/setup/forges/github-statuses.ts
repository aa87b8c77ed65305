/** GitHub's statuses of commits, with the limits that GitHub has. */
import { post, type Answer, type ForgeRequest, type Route } from './fake-forge.ts';

/** Statuses that were posted, as a host of any kind keeps them. */
export interface FakeCommits {
  readonly token: string;
  /** Path of the repository. Others are not there. */
  readonly path: string;
  readonly shas: ReadonlySet<string>;
  readonly posted: Array<{ readonly sha: string } & Record<string, unknown>>;
}

const STATES: ReadonlySet<unknown> = new Set(['error', 'failure', 'pending', 'success']);
const DESCRIPTION_MAX = 140;

export function githubStatuses(commits: FakeCommits): readonly Route[] {
  return [
    post(/^\/repos\/(?<path>[^/]+\/[^/]+)\/statuses\/(?<sha>[0-9a-f]+)$/, (asked) => answer(commits, asked)),
  ];
}

function answer(commits: FakeCommits, { headers, groups, body }: ForgeRequest): Answer {
  const { sha = '', path } = groups;
  const status = body as Record<string, unknown>;
  if (headers.authorization !== `Bearer ${commits.token}`)
    return { status: 401, body: { message: 'Bad credentials' } };
  if (path !== commits.path) return { status: 404, body: { message: 'Not Found' } };
  if (!commits.shas.has(sha)) return unprocessable(`No commit found for SHA: ${sha}`);
  if (!STATES.has(status['state'])) return unprocessable('Validation Failed');
  if ([...String(status['description'] ?? '')].length > DESCRIPTION_MAX)
    return unprocessable('Validation Failed', 'description is too long (maximum is 140 characters)');
  commits.posted.push({ sha, ...status });
  return { status: 201, body: { id: commits.posted.length, ...status } };
}

function unprocessable(message: string, error?: string): Answer {
  return {
    status: 422,
    body: { message, ...(error === undefined ? {} : { errors: [{ resource: 'Status', message: error }] }) },
  };
}
