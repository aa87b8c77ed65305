/** These tests read what a token sees from hosts on loopback, which list as the real ones do. */
import { afterEach, describe, expect, it } from 'vitest';
import { startFakeForge, type FakeForge, type Route } from '../../../test/setup/forges/fake-forge.ts';
import {
  azureList,
  bitbucketList,
  githubList,
  gitlabList,
  type FakeList,
} from '../../../test/setup/forges/repository-lists.ts';
import { createSafeFetch } from '../../base/safe-fetch.ts';
import { forgeApi, ForgeError } from './forges/call.ts';
import type { HostedRepository } from './forges/forge.ts';
import { REPOSITORIES_MAX, rootOf } from './forges/listing.ts';
import { listRepositories } from './hosts.ts';
import type { ForgeId } from './words.ts';

const TOKEN = 'a-token-of-the-host';

interface Kind {
  readonly forge: ForgeId;
  readonly api: string;
  readonly routes: (list: FakeList) => readonly Route[];
  /** Makes the path of a repository that this owner has. */
  readonly pathOf: (owner: string, name: string) => string;
  /** The path that is asked first. */
  readonly asks: string;
}

const plain = (owner: string, name: string): string => `${owner}/${name}`;

const KINDS: readonly Kind[] = [
  { forge: 'github', api: '', routes: githubList, pathOf: plain, asks: '/user/repos' },
  {
    forge: 'gitlab',
    api: '/api/v4',
    routes: gitlabList,
    pathOf: (owner, name) => `${owner}/group/${name}`,
    asks: '/api/v4/projects',
  },
  {
    forge: 'bitbucket',
    api: '/2.0',
    routes: bitbucketList,
    pathOf: plain,
    asks: '/2.0/repositories/acme',
  },
  {
    forge: 'azure',
    api: '',
    routes: azureList,
    pathOf: (owner, name) => `${owner}/shop/_git/${name}`,
    asks: '/acme/shop/_apis/git/repositories',
  },
];
const PAGED = KINDS.filter(({ forge }) => forge !== 'azure');
const [GITHUB, , BITBUCKET] = KINDS as [Kind, Kind, Kind, Kind];

describe('listRepositories()', () => {
  let forges: FakeForge[] = [];
  afterEach(async () => {
    await Promise.all(forges.map(async (forge) => await forge.close()));
    forges = [];
  });

  const start = async ({ routes }: Kind, list: Partial<FakeList> & Pick<FakeList, 'paths'>) => {
    const forge = await startFakeForge(routes({ token: TOKEN, ...list }));
    forges.push(forge);
    return forge;
  };
  const list = async (
    kind: Kind,
    { url }: FakeForge,
    owners: readonly string[] = ['acme'],
    token = TOKEN,
  ) => {
    const { forge, api, pathOf } = kind;
    const connection = {
      id: 'cic_1',
      provider: 'generic',
      forge,
      apiUrl: `${url}${api}`,
      repositoryHost: 'git.example.com',
      repositoryPath: pathOf('acme', 'web'),
      token,
    } as const satisfies HostedRepository;
    const secrets = { open: (_where: string, sealed: string) => Buffer.from(sealed) };
    const open = forgeApi({ secrets, fetch: createSafeFetch({ allowPrivate: true }) }, connection);
    const roots = owners.map((owner) => rootOf(forge, pathOf(owner, 'web')));
    return await listRepositories(open, roots);
  };
  const refused = async (kind: Kind, forge: FakeForge, token?: string): Promise<ForgeError> => {
    const error = await list(kind, forge, ['acme'], token).catch((thrown: unknown) => thrown);
    if (!(error instanceof ForgeError)) throw new Error('nothing was refused');
    expect(error.message).not.toContain(TOKEN);
    return error;
  };
  const many = (kind: Kind, count: number, owner = 'acme') =>
    Array.from({ length: count }, (_, at) => kind.pathOf(owner, `r${String(at).padStart(5, '0')}`));

  describe.each(KINDS)('at $forge', (kind) => {
    it('reads what the host says of each, and passes over entries that are null', async () => {
      const [web, secret] = [kind.pathOf('acme', 'web'), kind.pathOf('acme', 'Secret-secret')];
      const forge = await start(kind, { paths: [null, web, secret, null] });
      const { repositories, isComplete } = await list(kind, forge);
      expect(isComplete).toBe(true);
      expect(repositories.map(({ path, isPrivate }) => [path, isPrivate])).toEqual([
        [web, false],
        [secret, true],
      ]);
      expect(repositories[0]).toMatchObject({ defaultBranch: 'main' });
      expect(forge.asked[0]?.path).toBe(kind.asks);
    });

    it('drops what is of other owners', async () => {
      const [ours, labs, other] = ['acme', 'acme-labs', 'other'].map((owner) => kind.pathOf(owner, 'web'));
      const forge = await start(kind, { paths: [ours, labs, other] as string[] });
      const { repositories } = await list(kind, forge, ['acme', 'other']);
      expect(repositories.map(({ path }) => path)).toEqual([ours, other]);
    });

    it('refuses a token that is no good, and says so without it', async () => {
      const forge = await start(kind, { paths: [kind.pathOf('acme', 'web')] });
      expect(await refused(kind, forge, 'another-token')).toMatchObject({ problem: 'unauthorised' });
    });

    it('takes a redirect for a repository that was moved, and sends the token nowhere else', async () => {
      const elsewhere = await start(kind, { paths: [kind.pathOf('acme', 'web')] });
      const forge = await start(kind, { paths: [kind.pathOf('acme', 'web')] });
      forge.instead(({ path }) => ({ status: 301, headers: { location: `${elsewhere.url}${path}` } }));
      const error = await refused(kind, forge);
      expect(error).toMatchObject({ problem: 'refused', status: 301, isFinal: true });
      expect(error.message).toContain('was the repository moved?');
      expect(elsewhere.asked).toEqual([]);
    });

    it('reads no more than the limit', async () => {
      const forge = await start(kind, { paths: many(kind, REPOSITORIES_MAX + 1) });
      const { repositories, isComplete } = await list(kind, forge);
      expect(repositories).toHaveLength(REPOSITORIES_MAX);
      expect(isComplete).toBe(false);
      expect(forge.asked.length).toBeLessThanOrEqual(REPOSITORIES_MAX / 100);
    });

    it('takes an answer without a list for none', async () => {
      const forge = await start(kind, { paths: [] });
      forge.instead(() => ({ status: 200, body: { message: 'hello' } }));
      expect(await refused(kind, forge)).toMatchObject({ problem: 'answer_invalid' });
    });
  });

  describe.each(PAGED)('pages of $forge', (kind) => {
    it('are read to the last one, which is full', async () => {
      const paths = many(kind, 300);
      const forge = await start(kind, { paths });
      const { repositories, isComplete } = await list(kind, forge);
      expect(repositories.map(({ path }) => path)).toEqual(paths);
      expect(isComplete).toBe(true);
      expect(forge.asked).toHaveLength(3);
    });

    it('are not read at another host, whatever an answer says', async () => {
      const elsewhere = await start(kind, { paths: many(kind, 300) });
      const forge = await start(kind, { paths: many(kind, 300) });
      const next = `${elsewhere.url}${kind.asks}?page=2`;
      const [entry] = many(kind, 1);
      forge.instead(() => {
        const one = { full_name: entry, path_with_namespace: entry };
        return kind === BITBUCKET
          ? { status: 200, body: { values: [one], next } }
          : { status: 200, headers: { link: `<${next}>; rel="next"` }, body: [one] };
      });
      const error = await refused(kind, forge);
      expect(error).toMatchObject({ problem: 'answer_invalid' });
      expect(error.message).toContain('another host');
      expect(elsewhere.asked).toEqual([]);
    });

    it('that lead to themselves are read once', async () => {
      const forge = await start(kind, { paths: [] });
      const [entry] = many(kind, 1);
      forge.instead((asked) => {
        const next = `${forge.url}${kind.asks}?${asked.query.toString()}`;
        const one = { full_name: entry, path_with_namespace: entry };
        return kind === BITBUCKET
          ? { status: 200, body: { values: [one], next } }
          : { status: 200, headers: { link: `<${next}>; rel="next"` }, body: [one] };
      });
      expect((await list(kind, forge)).isComplete).toBe(false);
      expect(forge.asked.length).toBeLessThanOrEqual(2);
    });
  });

  it('knows an owner in whatever case a person wrote it', async () => {
    const forge = await start(GITHUB, { paths: ['Acme/web'] });
    expect((await list(GITHUB, forge, ['ACME'])).repositories).toHaveLength(1);
  });

  it('asks GitHub for the installation of an app, which has no user', async () => {
    const paths = many(GITHUB, 150);
    const forge = await start(GITHUB, { paths, isOfApp: true });
    const { repositories, isComplete } = await list(GITHUB, forge);
    expect([repositories.length, isComplete]).toEqual([150, true]);
    expect(forge.asked.map(({ path }) => path)).toEqual([
      '/user/repos',
      '/installation/repositories',
      '/installation/repositories',
    ]);
  });

  it('leaves another refusal of GitHub as it is', async () => {
    const forge = await start(GITHUB, { paths: [] });
    forge.instead(() => ({ status: 403, body: { message: 'Must have admin rights' } }));
    expect(await refused(GITHUB, forge)).toMatchObject({ problem: 'forbidden' });
    expect(forge.asked).toHaveLength(1);
  });

  it('reads each workspace of Bitbucket, and fails as a whole where one is gone', async () => {
    const paths = [...many(BITBUCKET, 2), ...many(BITBUCKET, 2, 'labs')];
    const forge = await start(BITBUCKET, { paths });
    expect((await list(BITBUCKET, forge, ['acme', 'labs'])).repositories).toHaveLength(4);
    await expect(list(BITBUCKET, forge, ['acme', 'gone'])).rejects.toMatchObject({ problem: 'not_found' });
  });
});
