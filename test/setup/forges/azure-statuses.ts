/** Answers as the statuses of commits in Azure Repos do. Whoever has no good token is shown a page. */
import { post, type Answer, type ForgeRequest, type Route } from './fake-forge.ts';
import type { FakeCommits } from './github-statuses.ts';

const STATES: ReadonlySet<unknown> = new Set(['pending', 'succeeded', 'failed', 'error', 'notApplicable']);

/** Returns the routes. `commits.path` is `organisation/project/repository`. */
export function azureStatuses(commits: FakeCommits): readonly Route[] {
  return [
    post(
      /^\/(?<project>.+)\/_apis\/git\/repositories\/(?<name>[^/]+)\/commits\/(?<sha>[0-9a-f]+)\/statuses$/,
      (asked) => answer(commits, asked),
    ),
  ];
}

function answer(commits: FakeCommits, { headers, groups, query, body }: ForgeRequest): Answer {
  const { sha = '', project, name } = groups;
  const status = body as Record<string, unknown>;
  if (headers.authorization !== `Basic ${Buffer.from(`:${commits.token}`).toString('base64')}`)
    return {
      status: 203,
      headers: { 'content-type': 'text/html' },
      body: Buffer.from('<html>Sign in</html>'),
    };
  if (query.get('api-version') === null)
    return { status: 400, body: { message: 'No api-version was supplied' } };
  if (`${project}/${name}` !== commits.path) return { status: 404, body: { message: 'TF401019: not found' } };
  if (!commits.shas.has(sha))
    return {
      status: 404,
      body: {
        message: `TF401175:The version descriptor <Commit: ${sha} > could not be resolved to a version`,
      },
    };
  if (!STATES.has(status['state'])) return { status: 400, body: { message: 'state is invalid' } };
  commits.posted.push({ sha, ...status });
  return { status: 201, body: { id: commits.posted.length, ...status } };
}
