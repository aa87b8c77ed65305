/** Answers as Bitbucket's build statuses do: a key is short, and an address is needed. */
import { post, type Answer, type ForgeRequest, type Route } from './fake-forge.ts';
import type { FakeCommits } from './github-statuses.ts';

const STATES: ReadonlySet<unknown> = new Set(['INPROGRESS', 'SUCCESSFUL', 'FAILED', 'STOPPED']);
const KEY_MAX = 40;

export function bitbucketStatuses(commits: FakeCommits): readonly Route[] {
  return [
    post(/^\/repositories\/(?<path>[^/]+\/[^/]+)\/commit\/(?<sha>[0-9a-f]+)\/statuses\/build$/, (asked) =>
      answer(commits, asked),
    ),
  ];
}

function answer(commits: FakeCommits, { headers, groups, body }: ForgeRequest): Answer {
  const { sha = '', path } = groups;
  const status = body as Record<string, unknown>;
  const refuse = (code: number, message: string): Answer => ({
    status: code,
    body: { type: 'error', error: { message } },
  });
  if (headers.authorization !== `Bearer ${commits.token}`) return refuse(401, 'Token is invalid');
  if (path !== commits.path) return refuse(404, `Repository ${path} not found`);
  if (!commits.shas.has(sha)) return refuse(404, 'Commit not found');
  const key = String(status['key'] ?? '');
  if (key === '' || key.length > KEY_MAX)
    return refuse(400, 'key: Ensure this value has at most 40 characters');
  if (typeof status['url'] !== 'string') return refuse(400, 'url: This field is required.');
  if (!STATES.has(status['state'])) return refuse(400, 'state: invalid');
  commits.posted.push({ sha, ...status });
  return { status: 201, body: status };
}
