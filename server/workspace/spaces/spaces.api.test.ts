/**
 * Here spaces are tested over the real door: who is in one, what each member sees in it, and what nobody else
 * ever does.
 */
import { createSvcSDK, type SvcSDK } from '@svc/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { setFeature } from '../../../test/setup/features.ts';
import { has } from '../../../test/setup/needs.ts';
import { firstSession, join, newKey, signIn, stranger, verify } from '../../../test/setup/people.ts';
import { refused } from '../../../test/setup/refused.ts';
import { startTestServer, type TestServer } from '../../../test/setup/server.ts';
import { OWNED_SPACES_MAX, PROJECTS_PER_SPACE_MAX } from './acts.ts';
import { MEMBERS_MAX } from './members.ts';

const LOW_ROLE = '403 role_insufficient';
const INVALID = '400 validation_failed';

describe.skipIf(!(await has('postgres')))('spaces', () => {
  let server: TestServer;
  /** This is the owner of the first team. */
  let owner: SvcSDK;
  let teamId: string;
  /** She is a developer of the first team, and has a team of her own. */
  let ada: Awaited<ReturnType<typeof join>>;
  let adaSdk: SvcSDK;
  let adaTeamId: string;
  let other: Awaited<ReturnType<typeof stranger>>;
  let otherSdk: SvcSDK;

  const sdkOf = (token: string): SvcSDK => createSvcSDK({ baseUrl: server.baseUrl, token, maxRetries: 0 });
  const names = (found: readonly { readonly name: string }[]) => found.map(({ name }) => name);

  beforeAll(async () => {
    server = await startTestServer({ env: { LIMIT_REQUESTS_PER_MINUTE: '1000000' } });
    teamId = server.first.teamId;
    owner = sdkOf(await firstSession(server));
    ada = await join(server, server.first.apiKey, { teamId, role: 'developer' });
    await verify(server, ada.userId);
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

    const changes = {
      description: 'by spring',
      avatarUrl: 'https://example.com/a.png',
      kind: 'personal',
    } as const;
    const changed = await owner.spaces.update(made.id, changes);
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
    const engines = ['engine-room', 'Analytical Engine', 'Difference Engine'];
    expect(names(await mine.search('ENGINE'))).toEqual(engines);

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
        refused(otherSdk.spaces.setMember(space.id, other.userId, 'owner')),
        refused(otherSdk.spaces.removeMember(space.id, ada.userId)),
        refused(otherSdk.spaces.delete(space.id)),
      ]),
    ).toEqual(Array.from({ length: 9 }, () => '404 not_found'));
  });

  it('take in and let go members by the rules of a team', async () => {
    const space = await owner.spaces.create('Members');
    const { userId: ownerId } = await owner.account.whoami();
    const joined = async () => await join(server, server.first.apiKey, { teamId, role: 'developer' });
    const [bob, eve] = [await joined(), await joined()];
    const bobSdk = sdkOf(bob.token);
    expect(await owner.spaces.setMember(space.id, bob.userId)).toMatchObject({ role: 'developer' });
    expect(await refused(bobSdk.spaces.setMember(space.id, eve.userId))).toBe(LOW_ROLE);
    expect(await refused(bobSdk.spaces.removeMember(space.id, ownerId))).toBe(LOW_ROLE);
    expect(await refused(bobSdk.spaces.delete(space.id))).toBe(LOW_ROLE);

    expect(await owner.spaces.setMember(space.id, bob.userId, 'admin')).toMatchObject({ role: 'admin' });
    expect(await refused(bobSdk.spaces.setMember(space.id, bob.userId, 'owner'))).toBe(LOW_ROLE);
    expect(await refused(bobSdk.spaces.setMember(space.id, eve.userId, 'owner'))).toBe(LOW_ROLE);
    expect(await refused(bobSdk.spaces.setMember(space.id, ownerId, 'viewer'))).toBe(LOW_ROLE);
    const added = await bobSdk.spaces.setMember(space.id, eve.userId, 'viewer');
    expect(await bobSdk.spaces.setMember(space.id, eve.userId)).toEqual(added); // The role is kept, and nothing is written.
    expect(await refused(bobSdk.spaces.setMember(space.id, other.userId))).toBe('404 not_found');
    expect(await refused(bobSdk.spaces.removeMember(space.id, other.userId))).toBe('404 not_found');

    expect(await refused(owner.spaces.setMember(space.id, ownerId, 'admin'))).toBe('409 last_owner');
    expect(await refused(owner.spaces.removeMember(space.id, ownerId))).toBe('409 last_owner');
    await sdkOf(eve.token).spaces.removeMember(space.id, eve.userId);
    expect(await refused(sdkOf(eve.token).spaces.overview(space.id))).toBe('404 not_found');
    await owner.spaces.setMember(space.id, bob.userId, 'owner');
    await owner.spaces.removeMember(space.id, ownerId);
    expect(await refused(owner.spaces.overview(space.id))).toBe('404 not_found');
    await bobSdk.spaces.delete(space.id);
    expect(await bobSdk.spaces.list()).toEqual([]);
  });

  it('keep an owner when both of two leave at the same moment', async () => {
    for (let round = 0; round < 5; round += 1) {
      const space = await owner.spaces.create(`Pair ${round}`, [{ userId: ada.userId, role: 'owner' }]);
      const { userId } = await owner.account.whoami();
      const answers = await Promise.all([
        refused(owner.spaces.removeMember(space.id, userId)),
        refused(adaSdk.spaces.removeMember(space.id, ada.userId)),
      ]);
      expect(answers.sort()).toEqual(['409 last_owner', 'not refused']);
    }
  });

  it('leave their projects alone when they are deleted', async () => {
    const space = await adaSdk.spaces.create('Short');
    const project = await adaSdk.projects.create({ name: 'outlives its space', teamId: adaTeamId });
    await adaSdk.spaces.addProject(space.id, project.id);
    await adaSdk.spaces.delete(space.id);
    expect(await refused(adaSdk.spaces.delete(space.id))).toBe('404 not_found');
    expect(await refused(adaSdk.space(space.id).projects.list())).toBe('404 not_found');
    expect((await adaSdk.projects.get(project.id)).name).toBe('outlives its space');
  });

  it("leave entries in the ledger: of a project in its team's chain, of the rest in the platform's", async () => {
    const space = await adaSdk.spaces.create('Ledger');
    const project = await adaSdk.projects.create({ name: 'ledger', teamId: adaTeamId });
    await adaSdk.spaces.update(space.id, { description: 'noted' });
    await adaSdk.spaces.addProject(space.id, project.id);
    await adaSdk.spaces.addProject(space.id, project.id); // Changes nothing, so it says nothing.
    await adaSdk.spaces.removeProject(space.id, project.id);
    await adaSdk.spaces.delete(space.id);
    const entries = await server.db.sql<Array<{ chain: string; action: string }>>`
      select chain, action from audit_entries
      where target = ${space.id} or (target = ${project.id} and action like 'space.%') order by at, chain, seq`;
    expect(entries.map(({ chain, action }) => `${chain === adaTeamId ? 'team' : chain} ${action}`)).toEqual([
      'platform space.created',
      'platform space.updated',
      'team space.project_added',
      'team space.project_removed',
      'platform space.deleted',
    ]);
  });

  it('are changed by admins and filled by developers', async () => {
    const space = await owner.spaces.create('Roles', [{ userId: ada.userId, role: 'viewer' }]);
    const project = await adaSdk.projects.create({ name: 'roles', teamId });
    const setRole = async (role: string) =>
      await server.db
        .sql`update space_members set role = ${role} where space_id = ${space.id} and user_id = ${ada.userId}`;
    expect(await refused(adaSdk.spaces.addProject(space.id, project.id))).toBe(LOW_ROLE);
    await setRole('developer');
    await adaSdk.spaces.addProject(space.id, project.id);
    expect(await refused(adaSdk.spaces.update(space.id, { name: 'Hers' }))).toBe(LOW_ROLE);
    await setRole('admin');
    expect((await adaSdk.spaces.update(space.id, { name: 'Hers' })).name).toBe('Hers');
  });

  it('take no project from somebody who only reads it', async () => {
    const viewer = await join(server, server.first.apiKey, { teamId, role: 'viewer' });
    const mine = sdkOf(viewer.token);
    const space = await mine.spaces.create('Reader');
    const project = await owner.projects.create({ name: 'read only', teamId });
    expect(await refused(mine.spaces.addProject(space.id, project.id))).toBe(LOW_ROLE);
  });

  it('lose their projects for a member who leaves the team, at once', async () => {
    const leaver = await join(server, server.first.apiKey, { teamId, role: 'developer' });
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
    expect(await refused(search(''))).toBe(INVALID);
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
    expect(await refused(adaSdk.projects.listPage({ spaceId: two.id, limit: 2, cursor }))).toBe(INVALID);
    expect(await adaSdk.space(two.id).projects.list()).toEqual([]);
  });

  it('answer questions with 503, once, as long as AI is not configured', async () => {
    const space = await adaSdk.spaces.create('Questions');
    const asked = await server.call(`POST /spaces/${space.id}/ai`, {
      as: ada.token,
      body: { messages: [{ role: 'user', content: 'hello' }] },
    });
    expect(asked).toMatchObject({ status: 503, code: 'unavailable' });
    const why = { message: 'AI is not configured on this installation', retryable: false };
    expect(asked.body['error']).toMatchObject(why);
    expect(await refused(adaSdk.spaces.ai(space.id, []))).toBe(INVALID);
  });

  it('are behind their switch, and so is the filter of projects', async () => {
    const space = await adaSdk.spaces.create('Switch');
    await setFeature(server, 'host.spaces', 'disabled');
    expect(await refused(adaSdk.spaces.overview(space.id))).toBe('403 feature_disabled');
    expect(await refused(adaSdk.space(space.id).projects.list())).toBe('403 feature_disabled');
    expect(await refused(otherSdk.space(space.id).projects.list())).toBe('403 feature_disabled');
    expect(await refused(adaSdk.projects.list())).toBe('not refused');
    await setFeature(server, 'host.spaces', 'enabled');
    expect(await adaSdk.space(space.id).projects.list()).toEqual([]);
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
    expect(answers.filter((answer) => answer === '409 limit_reached')).toHaveLength(4);
    expect(answers.filter((answer) => answer === 'not refused')).toHaveLength(2);

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

    await server.db.sql`
      with made as (
        insert into users (id, email, username, password_hash, created_at)
        select 'user_' || lpad(n::text, 26, '0'), 'bulk' || n || '@example.com', 'bulk-' || n, 'x', now()
        from generate_series(1, ${MEMBERS_MAX}::int) n returning id
      ), joined as (
        insert into team_members (team_id, user_id, role, joined_at) select ${person.teamId}, id, 'viewer', now() from made
      ) insert into space_members (space_id, user_id, role, joined_at)
        select ${space}, id, 'viewer', now() from made order by id limit ${MEMBERS_MAX - 1}::int`;
    const last = `user_${String(MEMBERS_MAX).padStart(26, '0')}`;
    expect(await refused(mine.spaces.setMember(space, last))).toBe('409 limit_reached');
    await mine.spaces.setMember(space, `user_${'1'.padStart(26, '0')}`, 'admin');
  });
});
