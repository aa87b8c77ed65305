/**
 * Answers as Bitbucket Cloud's branches and sources do: pages of folders name the next one by an address, and
 * files come as they are.
 */
import type { Answer, Route } from './fake-forge.ts';
import type { FakeEntry, FakeRepository, OfRepository } from './fake-repository.ts';

const error = (status: number, message: string): Answer => ({
  status,
  body: { type: 'error', error: { message } },
});

export function bitbucketTrees(repositories: readonly FakeRepository[]): readonly Route[] {
  const route = (path: string, answer: OfRepository): Route => ({
    method: 'GET',
    path: new RegExp(`^/2.0/repositories/(?<repository>[^/]+/[^/]+)${path}$`),
    answer: (asked) => {
      const repository = repositories.find(({ path: own }) => own === asked.groups['repository']);
      const gone = error(
        404,
        'You may not have access to this repository or it no longer exists in this workspace.',
      );
      if (repository === undefined) return gone;
      const { authorization } = asked.headers;
      if (authorization !== undefined && authorization !== `Bearer ${repository.token}`)
        return error(401, 'Token is invalid, expired, or not supported for this endpoint.');
      if (repository.token !== undefined && authorization === undefined) return gone;
      return answer(repository, asked);
    },
  });
  return [
    route('/refs/branches/(?<branch>.+)', ({ defaultBranch, head }, { groups }) =>
      groups['branch'] === defaultBranch
        ? {
            status: 200,
            body: { type: 'branch', name: defaultBranch, target: { type: 'commit', hash: head } },
          }
        : error(404, 'Branch not found'),
    ),
    route('/src/(?<commit>[0-9a-f]+)/(?<path>.*)', (repository, { groups, query }) => {
      const path = groups['path'] ?? '';
      if (groups['commit'] !== repository.head) return error(404, 'Commit not found');
      const isFolder = path === '' || path.endsWith('/');
      if (!isFolder) {
        const entry = repository.byPath(path);
        return entry === undefined ? error(404, `No such file: ${path}`) : { status: 200, body: entry.bytes };
      }
      const entries = repository.list(path.replace(/\/$/, ''));
      return entries === undefined ? error(404, `No such directory: ${path}`) : pageOf(entries, query, path);
    }),
    route('', ({ path, defaultBranch }) => ({
      status: 200,
      body: { full_name: path, mainbranch: { type: 'branch', name: defaultBranch } },
    })),
  ];
}

function pageOf(entries: readonly FakeEntry[], query: URLSearchParams, folder: string): Answer {
  const pagelen = Math.min(100, Number(query.get('pagelen') ?? 10));
  // The mark of a page is opaque.
  const page = Number(Buffer.from(query.get('page') ?? '', 'base64').toString() || 1);
  const mark = Buffer.from(String(page + 1)).toString('base64');
  const next = `https://api.bitbucket.org/2.0/elsewhere/${folder}?pagelen=${pagelen}&page=${encodeURIComponent(mark)}`;
  return {
    status: 200,
    body: {
      pagelen,
      page,
      values: entries.slice((page - 1) * pagelen, page * pagelen).map(({ path, kind, bytes }) => ({
        path,
        type: kind === 'folder' ? 'commit_directory' : kind === 'module' ? 'commit_submodule' : 'commit_file',
        ...(kind === 'file' || kind === 'link'
          ? { size: bytes.length, attributes: kind === 'link' ? ['link'] : [] }
          : {}),
      })),
      ...(entries.length > page * pagelen ? { next } : {}),
    },
  };
}
