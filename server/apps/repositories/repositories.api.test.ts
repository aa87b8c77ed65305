/** Repositories of a team over the real door, as hosts on loopback list them in the background. */
import { describe, expect, it } from 'vitest';
import { ownBackground } from '../../../test/setup/forges/background.ts';
import { bitbucketList, githubList, type FakeList } from '../../../test/setup/forges/repository-lists.ts';
import { has } from '../../../test/setup/needs.ts';
import { join, stranger } from '../../../test/setup/people.ts';
import { askDue, beginRefreshes } from './jobs.ts';

const TOKEN = 'ghp_canary0a1b2c3d';
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

interface Repository {
  readonly id: string;
  readonly source: string;
  readonly connectionIds: readonly string[];
  readonly environmentIds: readonly string[];
}

interface Page {
  readonly repositories: readonly Repository[];
  readonly page: number;
  readonly nextPage?: number;
  readonly refreshing: boolean;
  readonly problems: readonly string[];
}

describe.skipIf(!(await has('postgres')))('repositories', () => {
  const background = ownBackground({ hasOneClock: true });

  /** Every answer is looked through for the token. */
  const list = async (query = '', as = background.server.first.apiKey): Promise<Page> => {
    const answer = await background.server.call(`GET /repositories${query}`, { as });
    expect(answer.status, answer.text).toBe(200);
    expect(answer.text).not.toContain(TOKEN);
    return answer.body as unknown as Page;
  };
  const idsOf = ({ repositories }: Page) => repositories.map(({ id }) => id);
  const refreshed = async (): Promise<Page> => {
    await list();
    await background.work();
    return await list();
  };
  const github = async (paths: FakeList['paths'], path = 'acme/web') => {
    const fake: FakeList = { token: TOKEN, paths };
    const forge = await background.startForge(githubList(fake));
    const wanted = { provider: 'github', host: 'github.com', token: TOKEN, apiUrl: forge.url };
    const connectionId = await background.connect({ ...wanted, path });
    const another = async (other: string) => await background.connect({ ...wanted, path: other });
    return { fake, forge, connectionId, another };
  };
  const environment = async (repository: string): Promise<string> => {
    const { teamId } = background.server.first;
    const project = await background.call('POST /projects', { name: 'web', teamId });
    const route = `POST /projects/${String(project.body['id'])}/environments`;
    const made = await background.call(route, { name: 'production', repository });
    expect(made.status, made.text).toBe(201);
    return String(made.body['id']);
  };
  const remove = async (environmentId: string) =>
    await background.call(`DELETE /environments/${environmentId}`);

  it('are those that connections and environments name, without any token', async () => {
    const connectionId = await background.connect({
      provider: 'jenkins',
      host: 'github.com',
      path: 'Acme/Web',
    });
    const environmentId = await environment('https://someone:a-password@github.com/acme/web.git');
    const other = await environment('git@git.example.com:tools/cli.git');
    const page = await list();
    expect(page).toEqual({
      repositories: [
        {
          id: 'git.example.com/tools/cli',
          host: 'git.example.com',
          path: 'tools/cli',
          connectionIds: [],
          environmentIds: [other],
          source: 'known',
        },
        {
          id: 'github.com/acme/web',
          host: 'github.com',
          path: 'Acme/Web',
          forge: 'github',
          connectionIds: [connectionId],
          environmentIds: [environmentId],
          source: 'known',
        },
      ],
      page: 1,
      refreshing: false,
      problems: [],
    });
    expect(await background.server.db.sql`select from jobs`).toHaveLength(0);
    await remove(environmentId);
    await remove(other);
  });

  it('are what tokens see, once hosts were asked in the background', async () => {
    const { forge, connectionId, another } = await github(['acme/secret-app', 'acme/web', 'other/web']);
    await another('acme/api');
    const before = await list();
    expect(idsOf(before)).toEqual(['github.com/acme/api', 'github.com/acme/web']);
    expect(before).toMatchObject({ refreshing: true, problems: [] });
    expect(forge.asked).toEqual([]);

    await background.work();
    const page = await list();
    expect(page.repositories).toMatchObject([
      { id: 'github.com/acme/api', source: 'known' },
      { id: 'github.com/acme/secret-app', source: 'forge', private: true, connectionIds: [] },
      {
        id: 'github.com/acme/web',
        source: 'forge',
        forge: 'github',
        defaultBranch: 'main',
        private: false,
        archived: false,
        pushedAt: '2026-11-20T10:00:00Z',
        connectionIds: [connectionId],
      },
    ]);
    expect(page.refreshing).toBe(false);
    // Two connections have one token, which was used once.
    expect(forge.asked).toHaveLength(1);
  });

  it('are asked for again when somebody lists them after ten minutes, and every six hours', async () => {
    const { fake, forge } = await github(['acme/web']);
    await refreshed();
    fake.paths = ['acme/web', 'acme/new'];
    background.later(9 * MINUTE_MS);
    expect(await refreshed()).toMatchObject({ refreshing: false });
    expect(forge.asked).toHaveLength(1);

    background.later(2 * MINUTE_MS);
    expect(await list()).toMatchObject({ refreshing: true });
    // Whoever lists meanwhile has nothing asked twice.
    expect(await list()).toMatchObject({ refreshing: true });
    await background.work();
    expect(idsOf(await list())).toEqual(['github.com/acme/new', 'github.com/acme/web']);
    expect(forge.asked).toHaveLength(2);

    const { db } = background.server;
    const pass = async () => {
      await beginRefreshes(db, background.clock.now());
      await askDue(db, background.clock.now());
      await background.work();
    };
    background.later(5 * HOUR_MS);
    await pass();
    expect(forge.asked).toHaveLength(2);
    background.later(1.1 * HOUR_MS);
    await pass();
    expect(forge.asked).toHaveLength(3);
  });

  it('of a team that nobody lists are asked for, too', async () => {
    const { forge } = await github(['acme/web']);
    await beginRefreshes(background.server.db, background.clock.now());
    await askDue(background.server.db, background.clock.now());
    await background.work();
    expect(forge.asked).toHaveLength(1);
  });

  it('go when a complete pass sees them no more, and never by one that failed', async () => {
    const { fake, forge, connectionId } = await github(['acme/one', 'acme/two']);
    await refreshed();
    fake.paths = ['acme/two'];
    let isDown = true;
    forge.instead(() => (isDown ? { status: 401, body: { message: `bad: ${TOKEN}` } } : undefined));
    background.later(11 * MINUTE_MS);
    const failed = await refreshed();
    expect(idsOf(failed)).toEqual(['github.com/acme/one', 'github.com/acme/two', 'github.com/acme/web']);
    expect(failed.refreshing).toBe(false);
    expect(failed.problems).toHaveLength(1);
    expect(failed.problems[0]).toContain(
      `the token of ${connectionId} (github.com/acme/web) could not list repositories`,
    );
    expect(failed.problems[0]).toContain('401');

    isDown = false;
    background.later(11 * MINUTE_MS);
    const now = await refreshed();
    expect(idsOf(now)).toEqual(['github.com/acme/two', 'github.com/acme/web']);
    expect(now.problems).toEqual([]);
  });

  it('that two tokens see stay while one of them does', async () => {
    const first = await github(['acme/both', 'acme/web']);
    const second: FakeList = { token: 'another-token', paths: ['acme/both'] };
    const forge = await background.startForge(githubList(second));
    const wanted = { provider: 'github', host: 'github.com', apiUrl: forge.url };
    await background.connect({ ...wanted, path: 'acme/app', token: 'another-token' });
    expect(idsOf(await refreshed())).toContain('github.com/acme/both');
    second.paths = ['acme/app'];
    background.later(11 * MINUTE_MS);
    expect(idsOf(await refreshed())).toContain('github.com/acme/both');
    first.fake.paths = ['acme/web'];
    background.later(11 * MINUTE_MS);
    expect(idsOf(await refreshed())).not.toContain('github.com/acme/both');
  });

  it('go with the token that saw them', async () => {
    const { connectionId } = await github(['acme/web', 'acme/other']);
    expect(idsOf(await refreshed())).toContain('github.com/acme/other');
    expect((await background.call(`DELETE /ci/connections/${connectionId}/token`)).status).toBe(204);
    background.later(11 * MINUTE_MS);
    const page = await refreshed();
    expect(page.repositories).toMatchObject([{ id: 'github.com/acme/web', source: 'known' }]);
    expect(await background.server.db.sql`select from repository_refreshes`).toHaveLength(0);
  });

  it('are of every host that a connection has a token of', async () => {
    await github(['acme/web']);
    const forge = await background.startForge(bitbucketList({ token: TOKEN, paths: ['acme/shop'] }));
    const apiUrl = `${forge.url}/2.0`;
    await background.connect({
      provider: 'bitbucket',
      host: 'bitbucket.org',
      path: 'acme/shop',
      token: TOKEN,
      apiUrl,
    });
    const { repositories } = await refreshed();
    expect(repositories).toMatchObject([
      { id: 'bitbucket.org/acme/shop', forge: 'bitbucket', source: 'forge' },
      { id: 'github.com/acme/web', forge: 'github', source: 'forge' },
    ]);
  });

  it('are found by a part of their ids, in which every character stands for itself', async () => {
    const paths = ['acme/a_b', 'acme/axb', 'acme/Wide', 'acme/100%', 'acme/back\\slash'];
    await github(paths, 'acme/a_b');
    await refreshed();
    const found = async (q: string) => idsOf(await list(`?q=${encodeURIComponent(q)}`));
    expect(await found('a_b')).toEqual(['github.com/acme/a_b']);
    expect(await found('ACME/W')).toEqual(['github.com/acme/wide']);
    expect(await found('%')).toEqual(['github.com/acme/100%']);
    expect(await found('\\')).toEqual(['github.com/acme/back\\slash']);
    expect(await found('hub.com/acme')).toHaveLength(5);
    expect(await found("' or true --")).toEqual([]);
  });

  it('come in pages of 50, in the order of their ids', async () => {
    const paths = Array.from({ length: 120 }, (_, at) => `acme/r${String(at).padStart(3, '0')}`);
    // One that is known stands among those that were seen.
    await github(paths.toReversed(), 'acme/r0505');
    await refreshed();
    const ids = [...paths, 'acme/r0505'].map((path) => `github.com/${path}`).toSorted();
    const first = await list();
    expect(first).toMatchObject({ page: 1, nextPage: 2 });
    const second = await list('?page=2');
    const third = await list('?page=3');
    expect([...idsOf(first), ...idsOf(second), ...idsOf(third)]).toEqual(ids);
    expect([first, second, third].map(({ repositories }) => repositories.length)).toEqual([50, 50, 21]);
    expect(third).not.toHaveProperty('nextPage');
    const past = await list('?page=100000');
    expect(past).toMatchObject({ repositories: [], page: 100_000 });
    expect(past).not.toHaveProperty('nextPage');
    for (const wrong of ['?page=0', '?page=-1', '?page=100001', '?page=x', '?q=', `?q=${'x'.repeat(201)}`])
      expect((await background.call(`GET /repositories${wrong}`)).code, wrong).toBe('validation_failed');
  });

  it('are for developers, and of the team that is meant', async () => {
    const { server } = background;
    const { teamId, apiKey } = server.first;
    await github(['acme/web', 'acme/hidden']);
    await refreshed();

    const other = await stranger(server);
    expect(await list('', other.token)).toMatchObject({ repositories: [], refreshing: false, problems: [] });
    const asked = await server.call(`GET /repositories?teamId=${teamId}`, { as: other.token });
    expect(asked).toMatchObject({ status: 404, code: 'not_found' });

    const viewer = await join(server, apiKey, { teamId, role: 'viewer' });
    const refused = await server.call('GET /repositories', { as: viewer.token });
    expect(refused).toMatchObject({ status: 403, code: 'role_insufficient' });
    const developer = await join(server, apiKey, { teamId, role: 'developer' });
    expect(idsOf(await list('', developer.token))).toHaveLength(2);
  });

  it('store no token', async () => {
    await github(['acme/web']);
    await refreshed();
    const { server } = background;
    for (const table of ['repository_sources', 'forge_repositories', 'jobs'])
      expect(await server.asOwner(`select 1 from ${table} t where t::text like '%${TOKEN}%'`), table).toEqual(
        [],
      );
  });

  it('are of no team by chance where the credential reaches several', async () => {
    const { teamId } = background.server.first;
    await github(['acme/web']);
    const { body } = await background.call('POST /teams', { name: 'second' });
    const unsaid = await background.call('GET /repositories');
    expect(unsaid).toMatchObject({ status: 400, code: 'validation_failed' });
    expect(unsaid.text).toContain('reaches 2 teams; say by teamId which one is meant');
    expect(idsOf(await list(`?teamId=${teamId}`))).toHaveLength(1);
    expect(idsOf(await list(`?teamId=${String(body['id'])}`))).toEqual([]);
  });
});
