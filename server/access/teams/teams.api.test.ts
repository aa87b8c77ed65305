/** These tests call teams, members and invitations over HTTP. */
import { beforeAll, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { firstSession, join, PASSWORD, signIn, stranger } from '../../../test/setup/people.ts';
import type { TestResponse } from '../../../test/setup/server.ts';
import { useServer } from '../../../test/setup/use-server.ts';
import { createFakeClock } from '../../../test/setup/clock.ts';

describe.skipIf(!(await has('postgres')))('teams', () => {
  const clock = createFakeClock(new Date('2026-05-01T00:00:00Z'));
  const { server, call, codeOf, outcomeOf, statusOf } = useServer({ clock, env: { LIMIT_TEAMS: '20' } });
  let owner: string;

  beforeAll(async () => {
    owner = server.first.apiKey;
  });

  async function newTeam(name = 'crew'): Promise<string> {
    const made = await call(owner, 'POST /teams', { name });
    expect(made.status, made.text).toBe(201);
    return String(made.body['id']);
  }
  const members = async (teamId: string) =>
    (await call(owner, `GET /teams/${teamId}/members`)).body['members'] as Array<{
      userId: string;
      role: string;
    }>;
  const setRole = async (
    teamId: string,
    as: string,
    { userId, role }: { readonly userId: string; readonly role: string },
  ) => await call(as, `PATCH /teams/${teamId}/members/${userId}`, { role });
  const remove = async (teamId: string, as: string, userId: string) =>
    await call(as, `DELETE /teams/${teamId}/members/${userId}`);

  it('are founded service-operated, owned by the founder, with the named people invited', async () => {
    const made = await call(await firstSession(server), 'POST /teams', {
      name: 'founders',
      members: [{ email: 'Ann@Example.com' }, { email: 'bo@example.com', role: 'admin' }],
    });
    expect(made.body).toMatchObject({
      name: 'founders',
      operator: 'service',
      role: 'owner',
      kind: 'organization',
    });
    const { body } = await call(owner, `GET /teams/${String(made.body['id'])}/invites`);
    // Made in the same millisecond: their order says nothing.
    const invites = (body['invites'] as Array<{ email: string; role: string }>).toSorted((a, b) =>
      a.email < b.email ? -1 : 1,
    );
    expect(invites).toMatchObject([
      { email: 'ann@example.com', role: 'developer' },
      { email: 'bo@example.com', role: 'admin' },
    ]);
  });

  it('change only what is named', async () => {
    const teamId = await newTeam();
    await call(owner, `PATCH /teams/${teamId}`, { description: 'we build', kind: 'personal' });
    const after = await call(owner, `PATCH /teams/${teamId}`, { name: 'crew 2' });
    expect(after.body).toMatchObject({ name: 'crew 2', description: 'we build', kind: 'personal' });
  });

  it('are limited for each account', async () => {
    const person = await stranger(server);
    const results = await Promise.all(
      Array.from({ length: 25 }, async () => await statusOf(person.token, 'POST /teams', { name: 'n' })),
    );
    expect(results.filter((status) => status === 201)).toHaveLength(19); // one was there before
    expect(await outcomeOf(person.token, 'POST /teams', { name: 'one more' })).toBe('409 limit_reached');
  });

  describe('an invitation', () => {
    const invite = async (
      teamId: string,
      body: { readonly email: string; readonly role?: string },
      as = owner,
    ) => await call(as, `POST /teams/${teamId}/invites`, body);
    const accept = async (body: Record<string, unknown>, as?: string) =>
      await call(as, 'POST /invites/accept', body);
    /** It is what somebody without an account sends. */
    const newcomer = ({ body }: TestResponse, username: string) => ({
      token: body['token'],
      username,
      password: PASSWORD,
    });

    it('makes an account, once', async () => {
      const teamId = await newTeam();
      const request = newcomer(await invite(teamId, { email: 'new@example.com' }), 'new-one');
      const both = await Promise.all([accept(request), accept(request)]);
      expect(both.filter((answer) => answer.status === 200)).toHaveLength(1);
      expect((await accept(request)).code).toBe('invite_invalid');
      const { userId } = await signIn(server, 'new@example.com');
      expect(await members(teamId)).toContainEqual(expect.objectContaining({ userId, role: 'developer' }));
    });

    it('is accepted by the invited account, and by no other', async () => {
      const teamId = await newTeam();
      const person = await stranger(server);
      const other = await stranger(server);
      const invited = await invite(teamId, { email: person.email, role: 'viewer' });
      const { token } = invited.body;
      expect((await accept({ token }, other.token)).code).toBe('invite_other_account');
      expect((await accept(newcomer(invited, 'x1'))).code).toBe('credentials_missing');
      const accepted = await accept({ token }, person.token);
      expect(accepted.body['team']).toMatchObject({ id: teamId, role: 'viewer' });
      expect(await statusOf(person.token, `GET /teams/${teamId}`)).toBe(200);
    });

    it('is replaced by the next one to the same address', async () => {
      const teamId = await newTeam();
      const first = await invite(teamId, { email: 'again@example.com', role: 'viewer' });
      const second = await invite(teamId, { email: 'Again@example.com', role: 'developer' });
      expect((await accept(newcomer(first, 'again-one'))).code).toBe('invite_invalid');
      expect((await accept(newcomer(second, 'again-one'))).status).toBe(200);
    });

    it('ends after seven days, or when it is taken back', async () => {
      const teamId = await newTeam();
      const late = await invite(teamId, { email: 'late@example.com' });
      clock.advance(7 * 86_400_000 + 1);
      expect((await accept(newcomer(late, 'late-one'))).code).toBe('invite_invalid');
      const back = await invite(teamId, { email: 'back@example.com' });
      const inviteId = (back.body['invite'] as { id: string }).id;
      expect(await statusOf(owner, `DELETE /teams/${teamId}/invites/${inviteId}`)).toBe(204);
      expect((await accept(newcomer(back, 'back-one'))).code).toBe('invite_invalid');
      expect(await statusOf(owner, `DELETE /teams/${teamId}/invites/${inviteId}`)).toBe(404);
    });

    it('is not for members, and not for roles above the own one', async () => {
      const teamId = await newTeam();
      const admin = await join(server, owner, { teamId, role: 'admin' });
      expect((await invite(teamId, { email: admin.email })).code).toBe('already_member');
      const ask = async (email: string, role: string) => await invite(teamId, { email, role }, admin.token);
      expect((await ask('boss@example.com', 'owner')).code).toBe('role_insufficient');
      expect((await ask('peer@example.com', 'admin')).status).toBe(201);
    });
  });

  describe('a member', () => {
    it('cannot rise above who changes the role', async () => {
      const teamId = await newTeam();
      const admin = await join(server, owner, { teamId, role: 'admin' });
      const developer = await join(server, owner, { teamId, role: 'developer' });
      const refused = { code: 'role_insufficient' };
      for (const [as, userId, role, expected] of [
        [admin.token, developer.userId, 'owner', refused],
        [admin.token, admin.userId, 'owner', refused],
        [admin.token, developer.userId, 'admin', { status: 200 }],
        [admin.token, developer.userId, 'viewer', refused], // an admin now: owners only
        [owner, developer.userId, 'viewer', { body: { role: 'viewer' } }],
      ] as const)
        expect(await setRole(teamId, as, { userId, role })).toMatchObject(expected);
    });

    it('may leave, whatever the role, and not remove others', async () => {
      const teamId = await newTeam();
      const [viewer, other] = [
        await join(server, owner, { teamId, role: 'viewer' }),
        await join(server, owner, { teamId, role: 'viewer' }),
      ];
      expect((await remove(teamId, viewer.token, other.userId)).code).toBe('role_insufficient');
      expect((await remove(teamId, viewer.token, viewer.userId)).status).toBe(204);
      expect(await statusOf(viewer.token, `GET /teams/${teamId}`)).toBe(404);
      expect((await remove(teamId, owner, viewer.userId)).code).toBe('not_found');
    });

    it('who is the last owner neither leaves nor steps down', async () => {
      const teamId = await newTeam();
      const [me] = await members(teamId);
      const userId = me?.userId ?? '';
      expect((await remove(teamId, owner, userId)).code).toBe('last_owner');
      const session = await firstSession(server);
      expect((await setRole(teamId, session, { userId, role: 'admin' })).code).toBe('last_owner');
      const second = await join(server, owner, { teamId, role: 'owner' });
      expect((await setRole(teamId, session, { userId, role: 'admin' })).status).toBe(200);
      expect((await remove(teamId, second.token, second.userId)).code).toBe('last_owner');
    });

    it('stays owner when two owners step down at the same moment', async () => {
      for (let round = 0; round < 5; round += 1) {
        const teamId = await newTeam('race');
        const [first] = await members(teamId);
        const second = await join(server, owner, { teamId, role: 'owner' });
        await Promise.all([
          setRole(teamId, owner, { userId: first?.userId ?? '', role: 'viewer' }),
          setRole(teamId, second.token, { userId: second.userId, role: 'viewer' }),
        ]);
        const [row] = await server.db.sql<Array<{ n: number }>>`
          select count(*)::int as n from team_members where team_id = ${teamId} and role = 'owner'`;
        expect(row?.n, `owners in round ${round}`).toBe(1);
        await server.db.sql`delete from teams where id = ${teamId}`;
      }
    });
  });

  describe('deletion', () => {
    it('takes everything of the team, revokes its runners and cancels its work first', async () => {
      const teamId = await newTeam('going');
      await call(owner, 'POST /projects', { name: 'gone', teamId });
      const run = await call(owner, `POST /teams/${teamId}/sandbox-runs`, {
        purpose: 'agent_task',
        command: ['true'],
      });
      expect(run.status, run.text).toBe(201);
      const admin = await join(server, owner, { teamId, role: 'admin' });
      expect(await codeOf(admin.token, `DELETE /teams/${teamId}`)).toBe('role_insufficient');
      expect(await statusOf(owner, `DELETE /teams/${teamId}`)).toBe(204);
      expect(await statusOf(owner, `GET /teams/${teamId}`)).toBe(404);
      expect(await statusOf(owner, `GET /sandbox-runs/${String(run.body['id'])}`)).toBe(404);
      expect(await server.db.sql`select 1 from projects where team_id = ${teamId}`).toHaveLength(0);
    });

    it('spares the team of the service’s own runners', async () => {
      const { body } = await call(owner, 'GET /teams');
      const listed = body['teams'] as Array<{ id: string; name: string; servicePool?: boolean }>;
      const [pool, ...others] = listed.toSorted((a) => (a.servicePool === true ? -1 : 1));
      expect(pool).toMatchObject({ name: 'service pool', servicePool: true });
      for (const team of others) expect(team).not.toHaveProperty('servicePool');
      expect(await codeOf(owner, `DELETE /teams/${pool?.id}`)).toBe('team_protected');
    });
  });

  it('are found by staff by the beginnings of their names', async () => {
    const made = new Map<string, string>();
    for (const name of ['Zebra one', 'zebra two', 'ZEBRA 3', 'zeb%', 'a zebra'])
      made.set(name, await newTeam(name));
    const staff = server.first.staffApiKey;
    const page = async (query: string) => {
      const { body } = await call(staff, `GET /admin/teams?${query}`);
      const names = (body['teams'] as Array<{ name: string }>).map(({ name }) => name);
      return { names, next: body['nextCursor'] as string | undefined };
    };
    const one = await page('name=ZEBRA%20&limit=2');
    expect(one.names).toEqual(['ZEBRA 3', 'Zebra one']);
    expect(await page(`name=zebra%20&limit=2&cursor=${one.next}`)).toEqual({ names: ['zebra two'] });
    expect((await page('name=zeb%25')).names).toEqual(['zeb%']);
    expect((await page('name=nobody')).names).toEqual([]);
    expect((await page('limit=200')).names).toEqual(expect.arrayContaining([...made.keys()]));
    expect(await codeOf(owner, 'GET /admin/teams')).toBe('scope_missing');
  });

  it('move their queued work when staff assign a region', async () => {
    const teamId = await newTeam('moving');
    const run = await call(owner, `POST /teams/${teamId}/sandbox-runs`, {
      purpose: 'agent_task',
      command: ['true'],
    });
    const poolOfRun = async () => {
      const [row] = await server.db.sql`select pool_id from work_items where id = ${String(run.body['id'])}`;
      return row?.['pool_id'];
    };
    expect(await poolOfRun()).not.toBe(teamId);
    const { body } = await call(owner, 'GET /regions');
    const regions = body['regions'] as Array<{ id: string; operator: string }>;
    const assign = async (operator: string) =>
      await call(server.first.staffApiKey, `PUT /admin/teams/${teamId}/region`, {
        regionId: regions.find((region) => region.operator === operator)?.id,
      });
    expect((await assign('customer')).body).toMatchObject({ operator: 'customer', role: 'owner' });
    expect(await poolOfRun()).toBe(teamId);
    await assign('service');
    expect(await poolOfRun()).not.toBe(teamId);
  });
});
