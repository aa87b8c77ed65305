/** Answers as GitHub's runs of Actions do. A private repository is not there for those who may not see it. */
import { get, type ForgeRequest, type Route } from './fake-forge.ts';

/** Runs that a host of any kind keeps by their id, as the host answers them. */
export interface FakeRuns {
  readonly token: string;
  readonly path: string;
  readonly runs: Map<string, Record<string, unknown>>;
  /** Jobs of a run, at hosts that list them apart. */
  readonly jobs: Map<string, Array<Record<string, unknown>>>;
}

export const fakeRuns = (token: string, path: string): FakeRuns => ({
  token,
  path,
  runs: new Map(),
  jobs: new Map(),
});

export function githubRuns({ token, path, runs }: FakeRuns): readonly Route[] {
  const isVisible = ({ headers, groups }: ForgeRequest) =>
    headers.authorization === `Bearer ${token}` && groups['path'] === path;
  return [
    get(/^\/repos\/(?<path>[^/]+\/[^/]+)$/, (asked) =>
      isVisible(asked) ? { status: 200, body: { full_name: path } } : undefined,
    ),
    get(/^\/repos\/(?<path>[^/]+\/[^/]+)\/actions\/runs\/(?<id>\d+)\/attempts\/(?<attempt>\d+)$/, (asked) => {
      const { id = '', attempt } = asked.groups;
      const run = runs.get(`${id}/${attempt}`);
      if (!isVisible(asked) || run === undefined) return undefined;
      const repository = { id: 1, full_name: path };
      return { status: 200, body: { id: Number(id), run_attempt: Number(attempt), repository, ...run } };
    }),
  ];
}
