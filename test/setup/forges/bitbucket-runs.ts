/** Answers as Bitbucket's pipelines do, by number and by UUID in braces. */
import { get, type ForgeRequest, type Route } from './fake-forge.ts';
import type { FakeRuns } from './github-runs.ts';

export function bitbucketRuns({ token, path, runs }: FakeRuns): readonly Route[] {
  const isVisible = ({ headers, groups }: ForgeRequest) =>
    headers.authorization === `Bearer ${token}` && groups['path'] === path;
  return [
    get(/^\/repositories\/(?<path>[^/]+\/[^/]+)\/pipelines\/(?<id>[^/]+)$/, (asked) => {
      const run = runs.get(asked.groups['id'] ?? '');
      return isVisible(asked) && run !== undefined ? { status: 200, body: run } : undefined;
    }),
    get(/^\/repositories\/(?<path>[^/]+\/[^/]+)$/, (asked) =>
      isVisible(asked) ? { status: 200, body: { full_name: path } } : undefined,
    ),
  ];
}
