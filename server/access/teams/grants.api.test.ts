/**
 * These tests show what a credential may give to others in a team, and how long what was given holds. REST
 * and Connect.
 */
import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import {
  firstSession,
  join,
  newKey,
  PASSWORD,
  revokeKey,
  signIn,
  verify,
  type Person,
} from '../../../test/setup/people.ts';
import { useServer } from '../../../test/setup/use-server.ts';
import type { TestResponse } from '../../../test/setup/server.ts';
import { createFakeClock } from '../../../test/setup/clock.ts';
import { KEY_SCOPE, ROLES, scopesOf, TEAM_SCOPES } from '../../kit/scopes.ts';
import { newId } from '../../base/ids.ts';

describe.skipIf(!(await has('postgres')))('in a team', () => {
  const clock = createFakeClock(new Date('2026-05-01T00:00:00Z'));
  const { server, call, codeOf, statusOf } = useServer({ clock });
  let teamId: string;
  let owner: Person;

  beforeAll(async () => {
    const made = await call(server.first.apiKey, 'POST /teams', { name: 'crew' });
    teamId = String(made.body['id']);
    owner = await join(server, server.first.apiKey, { teamId, role: 'owner' });
    await verify(server, owner.userId);
  });

  const newName = (): string => `p${randomBytes(5).toString('hex')}`;
  const newEmail = (): string => `${newName()}@example.com`;
  const invite = async (as: string, role: string, email = newEmail()): Promise<TestResponse> =>
    await call(as, `POST /teams/${teamId}/invites`, { email, role });
  const accept = async (invited: TestResponse): Promise<TestResponse> =>
    await server.call('POST /invites/accept', {
      body: {
        token: invited.body['token'],
        username: newName(),
        password: PASSWORD,
      },
    });
  const setRole = async (as: string, userId: string, role: string): Promise<TestResponse> =>
    await call(as, `PATCH /teams/${teamId}/members/${userId}`, { role });
  const remove = async (as: string, userId: string): Promise<void> => {
    const { status } = await call(as, `DELETE /teams/${teamId}/members/${userId}`);
    expect(status).toBe(204);
  };
  const openEmails = async (): Promise<readonly string[]> =>
    (
      (await call(owner.token, `GET /teams/${teamId}/invites`)).body['invites'] as Array<{
        email: string;
      }>
    ).map(({ email }) => email);

  describe('an API key of an owner', () => {
    it.each([
      ['team:manage alone', ['team:manage'], []],
      ['team:manage and what a viewer holds', ['team:manage', ...scopesOf('viewer')], ['viewer']],
      ['all scopes', [...TEAM_SCOPES, KEY_SCOPE], ['viewer', 'developer']],
    ])('with %s gives no role that brings more, by no call and no door', async (_what, scopes, may) => {
      const { secret } = await newKey(server, owner.token, { scopes });
      const member = await join(server, owner.token, { teamId, role: 'viewer' });
      const given: Record<string, string[]> = {};
      for (const role of ROLES) {
        const email = newEmail();
        const answers = [
          await invite(secret, role, email),
          await call(secret, 'POST /svc.teams.v1.TeamsService/InviteMember', {
            teamId,
            email,
            role: `ROLE_${role.toUpperCase()}`,
          }),
          await setRole(secret, member.userId, role),
          await call(secret, 'POST /svc.teams.v1.TeamsService/UpdateMemberRole', {
            teamId,
            userId: member.userId,
            role: `ROLE_${role.toUpperCase()}`,
          }),
          await call(secret, 'POST /teams', { name: 'x', members: [{ email, role }] }),
        ];
        given[role] = answers.map(({ status }) => (status < 300 ? 'given' : `refused ${status}`));
        if (!(may as string[]).includes(role))
          expect(answers[0]?.code).toBe(
            role === 'admin' || role === 'owner' ? 'session_required' : 'scope_missing',
          );
      }
      for (const role of ROLES)
        expect(new Set(given[role]), role).toEqual(
          new Set([(may as string[]).includes(role) ? 'given' : 'refused 403']),
        );
      const teams = await call(owner.token, 'GET /teams');
      // A team whose members could not be invited was not founded either.
      expect(
        (teams.body['teams'] as Array<{ name: string }>).filter(({ name }) => name === 'x'),
      ).toHaveLength(may.length);
      await server.db.sql`delete from teams where name = 'x'`;
    });

    it('gives no role in a space that it does not bring itself, and no owner or admin', async () => {
      const member = await join(server, owner.token, { teamId, role: 'viewer' });
      const space = await call(owner.token, 'POST /spaces', { name: 'wide' });
      const put = async (as: string, role: string) =>
        await codeOf(as, `PUT /spaces/${String(space.body['id'])}/members/${member.userId}`, { role });
      const writes = await newKey(server, owner.token, { scopes: ['project:write'] });
      const both = await newKey(server, owner.token, { scopes: ['project:read', 'project:write'] });
      expect(await put(writes.secret, 'viewer')).toBe('scope_missing');
      expect(await put(both.secret, 'admin')).toBe('session_required');
      expect(await put(both.secret, 'developer')).toBeUndefined();
      const founded = await call(both.secret, 'POST /spaces', {
        name: 'mine',
        members: [{ userId: member.userId, role: 'owner' }],
      });
      expect(founded.code).toBe('session_required');
    });

    it('does not accept an invitation for its account', async () => {
      const invited = await call(server.first.apiKey, `POST /teams/${server.first.teamId}/invites`, {
        email: owner.email,
      });
      const key = await newKey(server, owner.token);
      const token = invited.body['token'];
      expect(await codeOf(key.secret, 'POST /invites/accept', { token })).toBe('session_required');
    });
  });

  it('a person gives no role above the own one, founds with whom it likes, and makes owners and admins', async () => {
    const admin = await join(server, owner.token, { teamId, role: 'admin' });
    expect((await invite(admin.token, 'owner')).code).toBe('role_insufficient');
    expect((await invite(admin.token, 'admin')).status).toBe(201);
    expect((await invite(owner.token, 'owner')).status).toBe(201);
  });

  describe('an invitation', () => {
    it('ends with the key that it was made with, and with a key above that', async () => {
      const parent = await newKey(server, owner.token, { scopes: [...TEAM_SCOPES, KEY_SCOPE] });
      const key = await newKey(server, parent.secret, { scopes: [...TEAM_SCOPES] });
      const email = newEmail();
      const first = await invite(key.secret, 'developer', email);
      expect(await openEmails()).toContain(email);
      await revokeKey(server, owner.token, parent.id);
      expect((await accept(first)).code).toBe('invite_invalid');
      expect(await openEmails()).not.toContain(email);

      const short = await newKey(server, owner.token, { expiresInDays: 1 });
      const late = await invite(short.secret, 'developer');
      clock.advance(86_400_000);
      expect((await accept(late)).code).toBe('invite_invalid');
      owner = { ...owner, ...(await signIn(server, owner.email)) };
    });

    it('ends when its maker is removed or leaves, and does not come back with the maker', async () => {
      for (const leaves of [false, true]) {
        const admin = await join(server, owner.token, { teamId, role: 'admin' });
        const invited = [await invite(admin.token, 'viewer'), await invite(admin.token, 'admin')];
        await remove(leaves ? admin.token : owner.token, admin.userId);
        for (const each of invited) expect((await accept(each)).code).toBe('invite_invalid');
        await server.db.sql`
          insert into team_members (team_id, user_id, role, joined_at) values (${teamId}, ${admin.userId}, 'owner', now())`;
        for (const each of invited) expect((await accept(each)).code).toBe('invite_invalid');
        await remove(owner.token, admin.userId);
      }
    });

    it.each([
      ['owner', 'admin', ['viewer', 'developer', 'admin']],
      ['owner', 'developer', []],
      ['admin', 'viewer', []],
    ])('of %s who becomes %s ends when it gives what the maker may not give', async (before, after, left) => {
      const maker = await join(server, owner.token, { teamId, role: before });
      const invited: Array<readonly [string, TestResponse]> = [];
      for (const role of ROLES) {
        const answer = await invite(maker.token, role);
        if (answer.status === 201) invited.push([role, answer]);
      }
      expect((await setRole(owner.token, maker.userId, after)).status).toBe(200);
      await setRole(owner.token, maker.userId, before); // too late for what has ended
      for (const [role, answer] of invited)
        expect((await accept(answer)).status, role).toBe((left as string[]).includes(role) ? 200 : 404);
    });

    it('for the address of a member who is removed ends too, whoever made it', async () => {
      const email = newEmail();
      const first = await invite(owner.token, 'admin', email);
      const second = await call(owner.token, `POST /teams/${teamId}/invites`, { email, role: 'viewer' });
      expect((await accept(first)).code).toBe('invite_invalid');
      expect((await accept(second)).status).toBe(200);
      const [member] = await server.db.sql`select id from users where email = ${email}`;
      // Left over from before the person joined another way.
      await server.db.sql`
        insert into team_invites (id, team_id, email, role, token_hash, created_at, expires_at, invited_by)
        values (${newId('inv')}, ${teamId}, ${email}, 'admin', 'left over', ${clock.now()}, ${new Date(clock.now().getTime() + 60_000)}, ${owner.userId})`;
      expect(await openEmails()).toContain(email);
      await remove(owner.token, String(member?.['id']));
      expect(await openEmails()).not.toContain(email);
    });

    it('is not accepted beside the removal of its maker', async () => {
      for (let round = 0; round < 5; round += 1) {
        const admin = await join(server, owner.token, { teamId, role: 'admin' });
        const invited = await invite(admin.token, 'viewer');
        const [accepted] = await Promise.all([accept(invited), remove(owner.token, admin.userId)]);
        if (accepted.status !== 200) expect(accepted.code).toBe('invite_invalid');
        expect((await accept(invited)).code).toBe('invite_invalid');
      }
    });
  });

  it('a staff session of another team gives nothing here', async () => {
    const session = await firstSession(server);
    const other = await call(owner.token, 'POST /teams', { name: 'x' });
    expect(
      await statusOf(session, `POST /teams/${String(other.body['id'])}/invites`, { email: newEmail() }),
    ).toBe(404);
  });
});
