/** GitLab's projects, branches, tree pages and raw blobs. */
import type { Answer, Route } from './fake-forge.ts';
import type { FakeEntry, FakeRepository, OfRepository } from './fake-repository.ts';

const missing = (what: string): Answer => ({ status: 404, body: { message: `404 ${what} Not Found` } });

export function gitlabTrees(repositories: readonly FakeRepository[]): readonly Route[] {
  const route = (path: string, answer: OfRepository): Route => ({
    method: 'GET',
    path: new RegExp(`^/api/v4/projects/(?<project>.+?)${path}$`),
    answer: (asked) => {
      const repository = repositories.find(({ path: own }) => own === asked.groups['project']);
      if (repository === undefined) return missing('Project');
      const token = asked.headers['private-token'];
      if (token !== undefined && token !== repository.token)
        return { status: 401, body: { message: '401 Unauthorized' } };
      if (repository.token !== undefined && token === undefined) return missing('Project');
      return answer(repository, asked);
    },
  });
  return [
    route('/repository/branches/(?<branch>.+)', ({ defaultBranch, head }, { groups }) =>
      groups['branch'] === defaultBranch
        ? { status: 200, body: { name: defaultBranch, commit: { id: head } } }
        : missing('Branch'),
    ),
    route('/repository/tree', (repository, { query }) => {
      const entries =
        query.get('ref') === repository.head ? repository.list(query.get('path') ?? '') : undefined;
      return entries === undefined ? missing('Tree') : pageOf(entries, query);
    }),
    route('/repository/blobs/(?<id>[0-9a-f]+)/raw', (repository, { groups }) => {
      const entry = repository.byId(groups['id'] ?? '');
      return entry === undefined ? missing('Blob') : { status: 200, body: entry.bytes };
    }),
    route('', ({ path, defaultBranch, ciConfigPath = null }) => ({
      status: 200,
      body: { path_with_namespace: path, default_branch: defaultBranch, ci_config_path: ciConfigPath },
    })),
  ];
}

function pageOf(entries: readonly FakeEntry[], query: URLSearchParams): Answer {
  const perPage = Math.min(100, Number(query.get('per_page') ?? 20));
  const page = Number(query.get('page') ?? 1);
  // GitLab shows folders first.
  const ordered = [...entries].sort((a, b) => Number(b.kind === 'folder') - Number(a.kind === 'folder'));
  const rest = ordered.slice(page * perPage);
  return {
    status: 200,
    headers: { 'x-page': String(page), 'x-next-page': rest.length > 0 ? String(page + 1) : '' },
    body: ordered.slice((page - 1) * perPage, page * perPage).map(({ id, name, path, kind, mode }) => ({
      id,
      name,
      type: kind === 'folder' ? 'tree' : kind === 'module' ? 'commit' : 'blob',
      path,
      mode,
    })),
  };
}
