/** Spaces over the real door: who is in one, what each member sees in it, and what nobody else ever does. */
import { createSvcSDK } from '@svc/sdk';
import type { SvcApiError, SvcSDK } from '@svc/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { has } from '../../test/setup/needs.ts';
import { join, newKey, signIn, stranger } from '../../test/setup/people.ts';
import { startTestServer } from '../../test/setup/server.ts';
import type { TestServer } from '../../test/setup/server.ts';
import { OWNED_SPACES_MAX, PROJECTS_PER_SPACE_MAX } from './index.ts';

const postgresHere = await has('postgres');

describe.skipIf(!postgresHere)('spaces', () => {
  let server: TestServer;
  /** Owner of the first team. */
  let owner: SvcSDK;
  let teamId: string;
  /** In the first team as a developer, and in a team of her own. */
  let ada: Awaited<ReturnType<typeof join>>;
  let adaSdk: SvcSDK;
  let adaTeamId: string;
  let other: Awaited<ReturnType<typeof stranger>>;
  let otherSdk: SvcSDK;

  const sdkOf = (token: string): SvcSDK => createSvcSDK({ baseUrl: server.baseUrl, token, maxRetries: 0 });
  const refused = async (call: PromiseLike<unknown>): Promise<string> => {
    try {
      await call;
    } catch (error) {
      const { status, code } = error as SvcApiError;
      return `${status} ${code}`;
    }
    return 'not refused';
  };
  const names = (found: readonly { readonly name: string }[]) => found.map(({ name }) => name);

  beforeAll(async () => {
    server = await startTestServer({ env: { LIMIT_REQUESTS_PER_MINUTE: '1000000' } });
    teamId = server.first.teamId;
    owner = sdkOf(server.first.apiKey);
    ada = await join(server, server.first.apiKey, teamId, 'developer');
    adaSdk = sdkOf(ada.token);
    adaTeamId = (await adaSdk.teams.create('lovelace')).id;
    other = await stranger(server);
    otherSdk = sdkOf(other.token);
  });
  afterAll(async () => await server.stop());

  it('are created, listed, changed, and belong to their members', async () => {
    const made = await owner.spaces.create('Launch', [{ userId: ada.userId, role: 'viewer' }]);
    expect(made).toMatchObject({ name: 'Launch', description: '', kind: 'organization', role: 'owner' });
    expect(made.id).toMatch(/^spc_[0-9a-z]{26}$/);
    expect((await owner.spaces.create('Alone')).kind).toBe('personal');

    const changed = await owner.spaces.update(made.id, {
      description: 'by spring',
      avatarUrl: 'https://example.com/a.png',
      kind: 'personal',
    });
    expect(changed).toMatchObject({ name: 'Launch', description: 'by spring', kind: 'personal' });
    expect(names(await owner.spaces.list())).toEqual(['Alone', 'Launch']);
    expect(await adaSdk.spaces.list()).toMatchObject([{ id: made.id, role: 'viewer' }]);
    expect(await otherSdk.spaces.list()).toEqual([]);

    const { members } = await adaSdk.spaces.overview(made.id);
    expect(members.map(({ userId, role }) => [userId, role])).toContainEqual([ada.userId, 'viewer']);
    expect(members).toHaveLength(2);
    expect(JSON.stringify(members)).not.toContain('@');
  });

  it('are the same space for a repeated creation with one key', async () => {
    const once = { idempotencyKey: 'space-once' };
    const first = await owner.spaces.create('Once', undefined, once);
    expect((await owner.spaces.create('Once', undefined, once)).id).toBe(first.id);
    expect((await owner.spaces.list()).filter(({ name }) => name === 'Once')).toHaveLength(1);
  });

  it('take in nobody whom the creator does not share a team with, and do not tell whether the account exists', async () => {
    const answer = async (userId: string) =>
      await server.call('POST /spaces', { as: ada.token, body: { name: 'x', members: [{ userId }] } });
    const plain = ({ text }: { text: string }) => text.replace(/"requestId":"[^"]*"/, '');
    const known = await answer(other.userId);
    expect(known.status).toBe(404);
    expect(plain(known)).toBe(plain(await answer('user_00000000000000000000000000')));
    expect(names(await adaSdk.spaces.list())).not.toContain('x');
  });

  it('show each member the projects of the own teams alone', async () => {
    const space = await adaSdk.spaces.create('Across');
    const hers = await adaSdk.projects.create({ name: 'Analytical Engine', teamId: adaTeamId });
    const shared = await adaSdk.projects.create({ name: 'Difference Engine', teamId });
    await adaSdk.environments.create(hers.id, { name: 'engine-room' });
    await adaSdk.environments.create(shared.id, { name: 'production' });
    await adaSdk.spaces.addProject(space.id, hers.id);
    await adaSdk.spaces.addProject(space.id, shared.id);
    await adaSdk.spaces.addProject(space.id, shared.id); // Again: nothing changes.
    const { userId: ownerId } = await owner.account.whoami();
    await server.db.sql`
      insert into space_members (space_id, user_id, role, joined_at) values (${space.id}, ${ownerId}, 'developer', now())`;

    const mine = adaSdk.space(space.id);
    expect(names(await mine.projects.list())).toEqual(['Difference Engine', 'Analytical Engine']);
    expect(await mine.overview()).toMatchObject({ projectCount: 2, environmentCount: 2, teamCount: 2 });
    expect(names(await mine.search('ENGINE'))).toEqual([
      'engine-room',
      'Analytical Engine',
      'Difference Engine',
    ]);

    const theirs = owner.space(space.id);
    expect(names(await theirs.projects.list())).toEqual(['Difference Engine']);
    expect(await theirs.overview()).toMatchObject({ projectCount: 1, environmentCount: 1, teamCount: 1 });
    expect(names(await theirs.search('engine'))).toEqual(['Difference Engine']);
    expect(await refused(owner.spaces.addProject(space.id, hers.id))).toBe('404 not_found');
    expect(await refused(owner.spaces.removeProject(space.id, hers.id))).toBe('404 not_found');

    await adaSdk.spaces.removeProject(space.id, shared.id);
    expect(await refused(adaSdk.spaces.removeProject(space.id, shared.id))).toBe('404 not_found');
    expect(await theirs.projects.list()).toEqual([]);
    await adaSdk.projects.get(shared.id);
    expect(names(await adaSdk.projects.list())).toContain('Difference Engine');
  });

  it('do not exist for others, whatever they call', async () => {
    const space = await adaSdk.spaces.create('Hidden');
    const project = await otherSdk.projects.create({ name: 'theirs', teamId: other.teamId });
    const handle = otherSdk.space(space.id);
    expect(
      await Promise.all([
        refused(handle.overview()),
        refused(handle.search('x')),
        refused(handle.projects.list()),
        refused(handle.ai([{ role: 'user', content: 'hello' }])),
        refused(otherSdk.spaces.update(space.id, { name: 'mine' })),
        refused(otherSdk.spaces.addProject(space.id, project.id)),
      ]),
    ).toEqual(Array.from({ length: 6 }, () => '404 not_found'));
  });

  it('are changed by admins and filled by developers', async () => {
    const space = await owner.spaces.create('Roles', [{ userId: ada.userId, role: 'viewer' }]);
    const project = await adaSdk.projects.create({ name: 'roles', teamId });
    const setRole = async (role: string) =>
      await server.db
        .sql`update space_members set role = ${role} where space_id = ${space.id} and user_id = ${ada.userId}`;
    expect(await refused(adaSdk.spaces.addProject(space.id, project.id))).toBe('403 role_insufficient');
    await setRole('developer');
    await adaSdk.spaces.addProject(space.id, project.id);
    expect(await refused(adaSdk.spaces.update(space.id, { name: 'Hers' }))).toBe('403 role_insufficient');
    await setRole('admin');
    expect((await adaSdk.spaces.update(space.id, { name: 'Hers' })).name).toBe('Hers');
  });

  it('take no project from somebody who only reads it', async () => {
    const viewer = await join(server, server.first.apiKey, teamId, 'viewer');
    const mine = sdkOf(viewer.token);
    const space = await mine.spaces.create('Reader');
    const project = await owner.projects.create({ name: 'read only', teamId });
    expect(await refused(mine.spaces.addProject(space.id, project.id))).toBe('403 role_insufficient');
  });

  it('lose their projects for a member who leaves the team, at once', async () => {
    const leaver = await join(server, server.first.apiKey, teamId, 'developer');
    const mine = sdkOf(leaver.token);
    const space = await mine.spaces.create('Leaving');
    const project = await mine.projects.create({ name: 'stays behind', teamId });
    await mine.spaces.addProject(space.id, project.id);
    expect(names(await mine.space(space.id).projects.list())).toEqual(['stays behind']);
    await owner.teams.removeMember(teamId, leaver.userId);
    const after = sdkOf((await signIn(server, leaver.email)).token).space(space.id);
    expect(await after.projects.list()).toEqual([]);
    expect(await after.search('stays')).toEqual([]);
    expect(await after.overview()).toMatchObject({ projectCount: 0, teamCount: 0 });
  });

  it('are seen by a key of one team when they hold a project of it, and not changed by it', async () => {
    const space = await adaSdk.spaces.create('Narrow');
    const shared = await adaSdk.projects.create({ name: 'narrow', teamId });
    const hers = await adaSdk.projects.create({ name: 'wide', teamId: adaTeamId });
    await adaSdk.spaces.addProject(space.id, hers.id);
    const narrow = sdkOf((await newKey(server, ada.token, { teamId })).secret);
    expect(await refused(narrow.spaces.overview(space.id))).toBe('404 not_found');
    await adaSdk.spaces.addProject(space.id, shared.id);
    expect(names(await narrow.space(space.id).projects.list())).toEqual(['narrow']);
    expect(await refused(narrow.spaces.update(space.id, { name: 'x' }))).toBe('403 scope_missing');
    expect(await refused(narrow.spaces.create('x'))).toBe('403 scope_missing');
  });

  it('are searched by words, not by patterns, and by kind', async () => {
    const space = await adaSdk.spaces.create('Search');
    for (const name of ['100% done', '100 things', 'a_b', 'axb', 'Over 100']) {
      const { id } = await adaSdk.projects.create({ name, teamId: adaTeamId });
      await adaSdk.environments.create(id, { name: 'a100' });
      await adaSdk.spaces.addProject(space.id, id);
    }
    const { search } = adaSdk.space(space.id);
    expect(names(await search('100%'))).toEqual(['100% done']);
    expect(names(await search('a_b'))).toEqual(['a_b']);
    expect(names(await search('100', ['project']))).toEqual(['100 things', '100% done', 'Over 100']);
    expect(await search('100', ['environment'])).toHaveLength(5);
    expect(await search('\\')).toEqual([]);
    expect(await refused(search(''))).toBe('400 validation_failed');
  });

  it('page through their projects with a cursor that no other space takes', async () => {
    const [one, two] = [await adaSdk.spaces.create('One'), await adaSdk.spaces.create('Two')];
    for (let n = 0; n < 5; n += 1) {
      const { id } = await adaSdk.projects.create({ name: `page ${n}`, teamId: adaTeamId });
      await adaSdk.spaces.addProject(one.id, id);
    }
    const page = await adaSdk.projects.listPage({ spaceId: one.id, limit: 2 });
    expect(names(page.projects)).toEqual(['page 4', 'page 3']);
    const cursor = page.nextCursor ?? '';
    const next = await adaSdk.projects.listPage({ spaceId: one.id, limit: 2, cursor });
    expect(names(next.projects)).toEqual(['page 2', 'page 1']);
    expect(await refused(adaSdk.projects.listPage({ spaceId: two.id, limit: 2, cursor }))).toBe(
      '400 validation_failed',
    );
    expect(await adaSdk.space(two.id).projects.list()).toEqual([]);
  });

  it('answer questions with 503, once, as long as AI is not configured', async () => {
    const space = await adaSdk.spaces.create('Questions');
    const asked = await server.call(`POST /spaces/${space.id}/ai`, {
      as: ada.token,
      body: { messages: [{ role: 'user', content: 'hello' }] },
    });
    expect(asked).toMatchObject({ status: 503, code: 'unavailable' });
    expect(asked.body['error']).toMatchObject({
      message: 'AI is not configured on this installation',
      retryable: false,
    });
    expect(await refused(adaSdk.spaces.ai(space.id, []))).toBe('400 validation_failed');
  });

  it('have limits, which hold when many are made at once', async () => {
    const person = await stranger(server);
    const mine = sdkOf(person.token);
    await server.db.sql`
      with made as (
        insert into spaces (id, name, created_at, updated_at)
        select 'spc_' || lpad(n::text, 26, '0'), 'bulk', now(), now() from generate_series(1, ${OWNED_SPACES_MAX - 2}::int) n returning id
      ) insert into space_members (space_id, user_id, role, joined_at) select id, ${person.userId}, 'owner', now() from made`;
    const answers = await Promise.all(
      Array.from({ length: 6 }, async () => await refused(mine.spaces.create('one more'))),
    );
    expect(answers.sort()).toEqual([
      ...Array.from({ length: 4 }, () => '409 limit_reached'),
      'not refused',
      'not refused',
    ]);

    const space = 'spc_00000000000000000000000001';
    await server.db.sql`
      with made as (
        insert into projects (id, team_id, name, slug, created_at)
        select 'prj_' || lpad(n::text, 26, '0'), ${person.teamId}, 'p', 'space-bulk-' || n, now()
        from generate_series(1, ${PROJECTS_PER_SPACE_MAX}::int) n returning id
      ) insert into space_projects (space_id, team_id, project_id, added_at) select ${space}, ${person.teamId}, id, now() from made`;
    const { id } = await mine.projects.create({ name: 'too many', teamId: person.teamId });
    expect(await refused(mine.spaces.addProject(space, id))).toBe('409 limit_reached');
    await mine.spaces.addProject(space, `prj_${'1'.padStart(26, '0')}`); // In there already.
  });
});
