/**
 * Answers as GitHub's branches, trees and blobs do. Any value of `recursive` lists everything, as GitHub
 * does.
 */
import type { Answer, Route } from './fake-forge.ts';
import type { FakeRepository, OfRepository } from './fake-repository.ts';

const NOT_FOUND: Answer = {
  status: 404,
  body: { message: 'Not Found', documentation_url: 'https://docs.github.com/rest', status: '404' },
};
const BAD_CREDENTIALS: Answer = { status: 401, body: { message: 'Bad credentials', status: '401' } };
/** GitHub cuts a tree at 100,000 entries; a test would wait for them. */
const TREE_MAX = 5_000;

export function githubTrees(repositories: readonly FakeRepository[]): readonly Route[] {
  const route = (path: string, answer: OfRepository): Route => ({
    method: 'GET',
    path: new RegExp(`^/repos/(?<repository>[^/]+/[^/]+)${path}$`),
    answer: (asked) => {
      const named = asked.groups['repository']?.toLowerCase();
      const repository = repositories.find(({ path: own }) => own.toLowerCase() === named);
      if (repository === undefined) return NOT_FOUND;
      const { authorization } = asked.headers;
      if (authorization !== undefined && authorization !== `Bearer ${repository.token}`)
        return BAD_CREDENTIALS;
      // A private repository is not there for those who may not see it.
      if (repository.token !== undefined && authorization === undefined) return NOT_FOUND;
      return answer(repository, asked);
    },
  });
  return [
    route('', ({ path, defaultBranch }) => ({
      status: 200,
      body: { full_name: path, default_branch: defaultBranch },
    })),
    route('/branches/(?<branch>.+)', ({ defaultBranch, head }, { groups }) =>
      groups['branch'] === defaultBranch
        ? { status: 200, body: { name: defaultBranch, commit: { sha: head } } }
        : { status: 404, body: { message: 'Branch not found', status: '404' } },
    ),
    route('/git/trees/(?<id>[0-9a-f]+)', (repository, { groups, query }) => {
      const { id = '' } = groups;
      const folder = id === repository.head ? '' : repository.byId(id)?.path;
      const entries = folder === undefined ? undefined : repository.list(folder);
      if (entries === undefined) return NOT_FOUND;
      if (query.has('recursive'))
        throw new Error('a recursive listing of all of the repository was asked for');
      const tree = entries.map(({ name, mode, kind, id: blob, bytes }) => ({
        path: name,
        mode,
        type: kind === 'folder' ? 'tree' : kind === 'module' ? 'commit' : 'blob',
        sha: blob,
        ...(kind === 'file' || kind === 'link' ? { size: bytes.length } : {}),
      }));
      return {
        status: 200,
        body: { sha: id, tree: tree.slice(0, TREE_MAX), truncated: tree.length > TREE_MAX },
      };
    }),
    route('/git/blobs/(?<id>[0-9a-f]+)', (repository, { groups, headers }) => {
      const entry = repository.byId(groups['id'] ?? '');
      if (entry === undefined || entry.kind === 'folder') return NOT_FOUND;
      return headers.accept === 'application/vnd.github.raw+json'
        ? { status: 200, body: entry.bytes }
        : { status: 200, body: { content: Buffer.from(entry.bytes).toString('base64'), encoding: 'base64' } };
    }),
  ];
}
