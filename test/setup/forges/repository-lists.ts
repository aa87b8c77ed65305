/**
 * Repositories that a token sees at a host of any kind, and how GitHub, GitLab, Bitbucket Cloud and Azure
 * Repos list them: each with its own form of pages, and of refusing.
 */
import { get, type Answer, type ForgeRequest, type Route } from './fake-forge.ts';

export interface FakeList {
  readonly token: string;
  /** Paths at the host, in its order; null stands for an entry that it could not read. */
  paths: ReadonlyArray<string | null>;
  /** GitHub: the token is of an installed app. */
  readonly isOfApp?: boolean;
}

const PUSHED = '2026-11-20T10:00:00Z';
const SECRET_PATHS = /secret/;

const here = ({ headers }: ForgeRequest): string => `http://${headers.host}`;

function slice<T>(
  all: readonly T[],
  asked: ForgeRequest,
  of: { readonly size: string; readonly most: number },
) {
  const page = Number(asked.query.get('page') ?? 1);
  const size = Math.min(of.most, Number(asked.query.get(of.size) ?? 30));
  return { page, items: all.slice((page - 1) * size, page * size), hasNext: all.length > page * size };
}

/** Makes the address of a page: that of the request, with other parameters. */
function addressOf(asked: ForgeRequest, path: string, set: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams(asked.query);
  for (const [name, value] of Object.entries(set)) query.set(name, value);
  return `${here(asked)}${path}?${query.toString()}`;
}

export function githubList(list: FakeList): readonly Route[] {
  const answer = (asked: ForgeRequest, body: (some: readonly unknown[]) => unknown): Answer => {
    if (asked.headers.authorization !== `Bearer ${list.token}`)
      return { status: 401, body: { message: 'Bad credentials' } };
    const { page, items, hasNext } = slice(list.paths, asked, { size: 'per_page', most: 100 });
    const to = (number: number) => addressOf(asked, asked.path, { page: String(number) });
    const link = `<${to(page + 1)}>; rel="next", <${to(99)}>; rel="last"`;
    return {
      status: 200,
      headers: hasNext ? { link } : { link: `<${to(1)}>; rel="first"` },
      body: body(items.map(githubRepository)),
    };
  };
  return [
    get(/^\/user\/repos$/, (asked) =>
      list.isOfApp === true
        ? { status: 403, body: { message: 'Resource not accessible by integration' } }
        : answer(asked, (some) => some),
    ),
    get(/^\/installation\/repositories$/, (asked) =>
      list.isOfApp === true
        ? answer(asked, (repositories) => ({ total_count: list.paths.length, repositories }))
        : { status: 403, body: { message: 'You must authenticate with an installation access token' } },
    ),
  ];
}

const githubRepository = (path: string | null) =>
  path && {
    id: 1,
    full_name: path,
    private: SECRET_PATHS.test(path),
    archived: false,
    default_branch: 'main',
    pushed_at: PUSHED,
  };

/** By keyset, which wants to be told of the order, and ids that fall. */
export function gitlabList(list: FakeList): readonly Route[] {
  return [
    get(/^\/api\/v4\/projects$/, (asked) => {
      const { query, headers } = asked;
      if (headers['private-token'] !== list.token)
        return { status: 401, body: { message: '401 Unauthorized' } };
      if (query.get('pagination') !== 'keyset' || query.get('order_by') !== 'id')
        return {
          status: 405,
          body: { error: 'Keyset pagination is not yet available for this type of request' },
        };
      if (query.get('membership') !== 'true') return { status: 200, body: [] };
      const all = list.paths.map((path, index) => ({ id: list.paths.length - index, path }));
      const before = Number(query.get('id_before') ?? Infinity);
      const rest = all.filter(({ id }) => id < before);
      const items = rest.slice(0, Math.min(100, Number(query.get('per_page') ?? 20)));
      const last = String(items.at(-1)?.id ?? 0);
      const next = addressOf(asked, asked.path, { id_before: last });
      return {
        status: 200,
        headers: rest.length > items.length ? { link: `<${next}>; rel="next"` } : {},
        body: items.map(({ id, path }) => path && gitlabProject(id, path)),
      };
    }),
  ];
}

const gitlabProject = (id: number, path: string) => ({
  id,
  path_with_namespace: path,
  default_branch: 'main',
  visibility: SECRET_PATHS.test(path) ? 'private' : 'public',
  last_activity_at: PUSHED,
});

/** One list a workspace; without `role` it is that of everybody. */
export function bitbucketList(list: FakeList): readonly Route[] {
  return [
    get(/^\/2\.0\/repositories\/(?<workspace>[^/]+)$/, (asked) => {
      if (asked.headers.authorization !== `Bearer ${list.token}`)
        return { status: 401, body: { type: 'error', error: { message: 'Token is invalid' } } };
      const { workspace = '' } = asked.groups;
      const own = list.paths.filter((path) => path === null || path.startsWith(`${workspace}/`));
      if (own.every((path) => path === null) || asked.query.get('role') !== 'member')
        return {
          status: 404,
          body: { type: 'error', error: { message: `No workspace with identifier ${workspace}` } },
        };
      const { page, items, hasNext } = slice(own, asked, { size: 'pagelen', most: 100 });
      const next = addressOf(asked, asked.path, { page: String(page + 1) });
      return {
        status: 200,
        body: { pagelen: 100, page, values: items.map(bitbucketRepository), ...(hasNext && { next }) },
      };
    }),
  ];
}

const bitbucketRepository = (path: string | null) =>
  path && {
    full_name: path,
    is_private: SECRET_PATHS.test(path),
    mainbranch: { type: 'branch', name: 'main' },
    updated_on: PUSHED,
  };

/** One list a project, in one answer. Paths are `organisation/project/_git/name`. */
export function azureList(list: FakeList): readonly Route[] {
  return [
    get(/^\/(?<project>[^/]+\/[^/]+)\/_apis\/git\/repositories$/, ({ headers, groups, query }) => {
      const expected = `Basic ${Buffer.from(`:${list.token}`).toString('base64')}`;
      if (headers.authorization !== expected)
        return {
          status: 203,
          headers: { 'content-type': 'text/html' },
          body: Buffer.from('<html>Sign In</html>'),
        };
      if (query.get('api-version') === null)
        return { status: 400, body: { message: 'No api-version was supplied for the request.' } };
      const { project = '' } = groups;
      const own = list.paths.filter((path) => path === null || path.startsWith(`${project}/_git/`));
      if (own.every((path) => path === null))
        return { status: 404, body: { message: 'TF200016: The following project does not exist' } };
      const value = own.map((path) => path && azureRepository(path));
      return { status: 200, body: { value, count: value.length } };
    }),
  ];
}

function azureRepository(path: string) {
  const [, project, , name] = path.split('/');
  return {
    name,
    project: { name: project, visibility: SECRET_PATHS.test(path) ? 'private' : 'public' },
    defaultBranch: 'refs/heads/main',
    isDisabled: false,
  };
}
