/** Answers as GitLab's pipelines and, in pages, their jobs do. */
import { get, type ForgeRequest, type Route } from './fake-forge.ts';
import type { FakeRuns } from './github-runs.ts';

export function gitlabRuns({ token, path, runs, jobs }: FakeRuns): readonly Route[] {
  const isVisible = ({ headers, groups }: ForgeRequest) =>
    headers['private-token'] === token && groups['path'] === path;
  return [
    get(/^\/projects\/(?<path>.+?)\/pipelines\/(?<id>\d+)\/jobs$/, (asked) => {
      const { id = '' } = asked.groups;
      if (!isVisible(asked) || !runs.has(id)) return undefined;
      const [page, size] = [Number(asked.query.get('page') ?? 1), Number(asked.query.get('per_page') ?? 20)];
      return { status: 200, body: (jobs.get(id) ?? []).slice((page - 1) * size, page * size) };
    }),
    get(/^\/projects\/(?<path>.+?)\/pipelines\/(?<id>\d+)$/, (asked) => {
      const { id = '' } = asked.groups;
      const run = runs.get(id);
      if (!isVisible(asked) || run === undefined) return undefined;
      return { status: 200, body: { id: Number(id), project_id: 7, ...run } };
    }),
    get(/^\/projects\/(?<path>.+)$/, (asked) =>
      isVisible(asked) ? { status: 200, body: { id: 7 } } : undefined,
    ),
  ];
}
