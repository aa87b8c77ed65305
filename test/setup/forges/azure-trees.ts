/** Answers as Azure Repos' refs, items and blobs do. Its path is `organisation/project/_git/repository`. */
import type { Answer, Route } from './fake-forge.ts';
import type { FakeRepository, OfRepository } from './fake-repository.ts';

/** What whoever is not signed in gets: a page, and no 401. */
const SIGN_IN: Answer = {
  status: 203,
  headers: { 'content-type': 'text/html' },
  body: Buffer.from('<html>Sign In</html>'),
};

export function azureTrees(repositories: readonly FakeRepository[]): readonly Route[] {
  const route = (path: string, answer: OfRepository): Route => ({
    method: 'GET',
    path: new RegExp(`^/(?<project>[^/]+/[^/]+)/_apis/git/repositories/(?<repository>[^/]+)${path}$`),
    answer: (asked) => {
      const { project = '', repository: name = '' } = asked.groups;
      const repository = repositories.find(({ path: own }) => own === `${project}/_git/${name}`);
      const { authorization } = asked.headers;
      if (repository === undefined)
        return {
          status: 404,
          body: { message: `TF401019: The Git repository with name or identifier ${name} does not exist` },
        };
      const expected = `Basic ${Buffer.from(`:${repository.token}`).toString('base64')}`;
      if (repository.token !== undefined && authorization !== expected) return SIGN_IN;
      return answer(repository, asked);
    },
  });
  return [
    route('/refs', ({ defaultBranch, head }, { query }) => {
      const refs = [`refs/heads/${defaultBranch}`, `refs/heads/${defaultBranch}-2`];
      const value = refs
        .filter((name) => name.startsWith(`refs/${query.get('filter') ?? ''}`))
        .reverse()
        .map((name) => ({ name, objectId: name.endsWith('-2') ? 'b'.repeat(40) : head }));
      return { status: 200, body: { value, count: value.length } };
    }),
    route('/items', (repository, { query }) => {
      const folder = (query.get('scopePath') ?? '/').replace(/^\//, '');
      const entries =
        query.get('versionDescriptor.version') === repository.head ? repository.list(folder) : undefined;
      if (entries === undefined)
        return { status: 404, body: { message: `TF401174: The item '/${folder}' could not be found` } };
      const own = { objectId: 'a'.repeat(40), gitObjectType: 'tree', path: `/${folder}`, isFolder: true };
      const value = entries.map(({ id, kind, path }) => ({
        objectId: id,
        gitObjectType: kind === 'folder' ? 'tree' : kind === 'module' ? 'commit' : 'blob',
        commitId: repository.head,
        path: `/${path}`,
        ...(kind === 'folder' ? { isFolder: true } : {}),
        ...(kind === 'link' ? { isSymLink: true } : {}),
      }));
      return { status: 200, body: { count: value.length + 1, value: [own, ...value] } };
    }),
    route('/blobs/(?<id>[0-9a-f]+)', (repository, { groups }) => {
      const entry = repository.byId(groups['id'] ?? '');
      return entry === undefined
        ? { status: 404, body: { message: 'TF401035: The object does not exist' } }
        : { status: 200, body: entry.bytes };
    }),
    route('', ({ defaultBranch }) => ({
      status: 200,
      body: { defaultBranch: `refs/heads/${defaultBranch}` },
    })),
  ];
}
