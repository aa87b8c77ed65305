/** Addresses that nobody proved: what their accounts reach, and how they give way. REST and Connect. */
import { randomBytes } from 'node:crypto';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import {
  firstSession,
  join,
  newKey,
  PASSWORD,
  signIn,
  stranger,
  verify,
  type Person,
} from '../../../test/setup/people.ts';
import { useServer } from '../../../test/setup/use-server.ts';
import type { TestResponse } from '../../../test/setup/server.ts';

describe.skipIf(!(await has('postgres')))('an address that nobody proved', () => {
  const { server, call, codeOf, outcomeOf, statusOf } = useServer();
  /** The session is of staff, who also own the first team. */
  let session: string;
  let teamId: string;
  /** Owns another team. */
  let other: Person & { readonly teamId: string };
  /** Made by an invitation to the first team. */
  let squatter: Person;

  beforeAll(async () => {
    session = await firstSession(server);
    ({ teamId } = server.first);
    other = await stranger(server);
  });
  beforeEach(async () => {
    squatter = await join(server, session, { teamId, role: 'developer' });
  });

  const newName = (): string => `p${randomBytes(5).toString('hex')}`;
  const invite = async (
    team: string,
    as: string,
    { email, role = 'developer' }: { readonly email: string; readonly role?: string },
  ): Promise<TestResponse> => await call(as, `POST /teams/${team}/invites`, { email, role });
  const accept = async (invited: TestResponse, as: string): Promise<TestResponse> =>
    await call(as, 'POST /invites/accept', { token: invited.body['token'] });
  const inviteId = ({ body }: TestResponse): string => (body['invite'] as { id: string }).id;
  const teamsOf = async (as: string): Promise<readonly string[]> =>
    ((await call(as, 'GET /teams')).body['teams'] as Array<{ id: string }>).map(({ id }) => id);
  const confirm = async (team: string, id: string, as: string): Promise<TestResponse> =>
    await call(as, `POST /teams/${team}/invites/${id}/confirm`, {});
  const claim = async (email: string): Promise<string> => {
    const made = await call(session, 'POST /admin/account-claims', { email });
    expect(made.status, made.text).toBe(201);
    return String(made.body['token']);
  };
  const use = async (token: string, username = newName()): Promise<TestResponse> =>
    await server.call('POST /account/claim', { body: { token, username, password: 'the true owner knows' } });

  describe('belongs to an account that', () => {
    it('is marked wherever it is shown', async () => {
      expect((await call(squatter.token, 'GET /account')).body).toMatchObject({ emailVerified: false });
      expect((await call(session, 'GET /account')).body).toMatchObject({ emailVerified: true });
      const members = (await call(session, `GET /teams/${teamId}/members`)).body['members'];
      expect(members).toContainEqual(
        expect.objectContaining({ userId: squatter.userId, emailVerified: false }),
      );
      const space = await call(session, 'POST /spaces', {
        name: 'shared',
        members: [{ userId: squatter.userId, role: 'viewer' }],
      });
      const overview = await call(session, `GET /spaces/${String(space.body['id'])}/overview`);
      expect(overview.body['members']).toContainEqual(
        expect.objectContaining({ userId: squatter.userId, emailVerified: false }),
      );
      const found = await call(session, `GET /admin/accounts?email=${squatter.email.toUpperCase()}`);
      expect(found.body).toMatchObject({ userId: squatter.userId, emailVerified: false });
      expect(found.body).not.toHaveProperty('emailVerifiedAt');
    });

    it('founds no team, by no door and with no key', async () => {
      const key = await newKey(server, squatter.token);
      for (const as of [squatter.token, key.secret])
        expect(await codeOf(as, 'POST /teams', { name: 'mine' })).toBe('email_unverified');
      const connect = await call(squatter.token, 'POST /svc.teams.v1.TeamsService/Create', { name: 'mine' });
      expect([connect.status, connect.text]).toEqual([403, expect.stringContaining('not verified')]);
      expect(await teamsOf(squatter.token)).toEqual([teamId]);
    });

    it('reaches another team only when an admin or owner of that team confirms it', async () => {
      const invited = await invite(other.teamId, other.token, { email: squatter.email });
      const answer = await accept(invited, squatter.token);
      expect([answer.status, answer.body]).toEqual([200, { pending: true }]);
      expect((await accept(invited, squatter.token)).body).toEqual({ pending: true });
      expect(await teamsOf(squatter.token)).toEqual([teamId]);
      expect(await statusOf(squatter.token, `GET /teams/${other.teamId}`)).toBe(404);

      const id = inviteId(invited);
      const { body } = await call(other.token, `GET /teams/${other.teamId}/invites`);
      const shown = (body['invites'] as Array<{ id: string }>).find((each) => each.id === id);
      expect(shown).toMatchObject({ awaiting: { userId: squatter.userId, username: squatter.username } });
      const inbox = await call(other.token, `GET /teams/${other.teamId}/inbox`);
      expect(inbox.body).toMatchObject({ items: [{ kind: 'membership_confirmation', id }] });

      expect((await confirm(other.teamId, id, squatter.token)).status).toBe(404);
      expect((await confirm(other.teamId, id, session)).status).toBe(404); // staff, and not of this team
      const developer = await join(server, other.token, { teamId: other.teamId, role: 'developer' });
      expect((await confirm(other.teamId, id, developer.token)).code).toBe('role_insufficient');
      const manager = await newKey(server, other.token, { scopes: ['team:manage'] });
      expect((await confirm(other.teamId, id, manager.secret)).code).toBe('scope_missing');
      const confirmed = await confirm(other.teamId, id, other.token);
      expect(confirmed.body).toMatchObject({
        userId: squatter.userId,
        role: 'developer',
        emailVerified: false,
      });
      expect((await teamsOf(squatter.token)).toSorted()).toEqual([teamId, other.teamId].toSorted());
      expect((await confirm(other.teamId, id, other.token)).status).toBe(404);
    });

    it('waits in vain when the invitation ends, is not used, or is given to somebody else', async () => {
      const invited = await invite(other.teamId, other.token, { email: squatter.email });
      expect((await confirm(other.teamId, inviteId(invited), other.token)).code).toBe('state_conflict');
      await accept(invited, squatter.token);
      const again = await invite(other.teamId, other.token, { email: squatter.email });
      expect((await confirm(other.teamId, inviteId(invited), other.token)).status).toBe(404);
      expect((await confirm(other.teamId, inviteId(again), other.token)).code).toBe('state_conflict');
      await accept(again, squatter.token);
      await call(other.token, `DELETE /teams/${other.teamId}/invites/${inviteId(again)}`);
      expect((await confirm(other.teamId, inviteId(again), other.token)).status).toBe(404);
      expect(await teamsOf(squatter.token)).toEqual([teamId]);
    });

    it('an admin cannot confirm as an owner', async () => {
      const invited = await invite(other.teamId, other.token, { email: squatter.email, role: 'owner' });
      await accept(invited, squatter.token);
      const admin = await join(server, other.token, { teamId: other.teamId, role: 'admin' });
      expect((await confirm(other.teamId, inviteId(invited), admin.token)).code).toBe('role_insufficient');
      const key = await newKey(server, other.token);
      expect((await confirm(other.teamId, inviteId(invited), key.secret)).code).toBe('session_required');
    });

    it('is like any other once staff vouch for it', async () => {
      const invited = await invite(other.teamId, other.token, { email: squatter.email });
      await accept(invited, squatter.token);
      const route = `POST /admin/accounts/${squatter.userId}/verify-email`;
      expect(await codeOf(squatter.token, route, {})).toBe('scope_missing');
      expect(await codeOf(server.first.staffApiKey, route, {})).toBe('session_required');
      const done = await call(session, route, {});
      expect(done.body).toMatchObject({ emailVerified: true, emailVerifiedAt: expect.any(String) as string });
      expect((await call(session, route, {})).body).toEqual(done.body);
      expect(await statusOf(squatter.token, 'POST /teams', { name: 'own' })).toBe(201);
      expect((await accept(invited, squatter.token)).body['team']).toMatchObject({ id: other.teamId });
      const { body } = await call(session, 'GET /admin/audit?limit=50');
      const acts = (body['entries'] as Array<{ action: string; target: string }>).filter(
        ({ target }) => target === squatter.userId,
      );
      expect(acts.map(({ action }) => action)).toEqual(['account.email_verified']);
      expect(await statusOf(session, 'POST /admin/accounts/user_0/verify-email', {})).toBe(404);
    });
  });

  it('is not taken by whoever holds another token for it: a person with an account signs in first', async () => {
    const invited = await invite(other.teamId, other.token, { email: squatter.email });
    const body = { token: invited.body['token'], username: newName(), password: PASSWORD };
    const answer = await server.call('POST /invites/accept', { body });
    expect([answer.status, answer.code]).toEqual([401, 'credentials_missing']);
    expect((await accept(invited, other.token)).code).toBe('invite_other_account');
  });

  describe('is taken over by its owner with a claim from staff:', () => {
    it('the account that held it loses everything it had', async () => {
      const key = await newKey(server, squatter.token, { scopes: ['key:manage', 'team:read'] });
      const child = await newKey(server, key.secret, { scopes: ['team:read'] });
      const admin = await call(session, `PATCH /teams/${teamId}/members/${squatter.userId}`, {
        role: 'admin',
      });
      expect(admin.status).toBe(200);
      const below = await invite(teamId, squatter.token, { email: `${newName()}@example.com` });
      const waiting = await invite(other.teamId, other.token, { email: squatter.email });
      await accept(waiting, squatter.token);

      const token = await claim(squatter.email.toUpperCase());
      const made = await use(token);
      expect([made.status, made.body]).toEqual([
        201,
        { userId: expect.any(String) as string, email: squatter.email },
      ]);
      expect(made.body['userId']).not.toBe(squatter.userId);

      for (const as of [squatter.token, key.secret, child.secret])
        expect(await statusOf(as, 'GET /account')).toBe(401);
      const old = await server.call('POST /auth/login', {
        body: { email: squatter.email, password: PASSWORD },
      });
      expect(old.code).toBe('credentials_invalid');
      const [row] = await server.db.sql`select email from users where id = ${squatter.userId}`;
      const gone = await server.call('POST /auth/login', {
        body: { email: row?.['email'], password: PASSWORD },
      });
      expect(gone.code).toBe('credentials_invalid');

      const owner = await signIn(server, squatter.email, 'the true owner knows');
      expect((await call(owner.token, 'GET /account')).body).toMatchObject({
        emailVerified: true,
        teams: [],
      });
      const members = (await call(session, `GET /teams/${teamId}/members`)).body['members'] as Array<{
        userId: string;
      }>;
      expect(members.map(({ userId }) => userId)).not.toContain(squatter.userId);
      const body = { token: below.body['token'], username: newName(), password: PASSWORD };
      expect(await codeOf(undefined, 'POST /invites/accept', body)).toBe('invite_invalid');
      expect((await confirm(other.teamId, inviteId(waiting), other.token)).code).toBe('state_conflict');
      expect((await accept(waiting, owner.token)).body).toMatchObject({
        pending: false,
        team: { id: other.teamId },
      });
      // The name that it had is free again, and the claim is used up.
      const rename = { as: owner.token, body: { username: squatter.username } };
      expect((await server.call('PATCH /account/username', rename)).status).toBe(200);
      expect((await use(token)).code).toBe('claim_invalid');
    });

    it('a team that it owned alone passes to the new account, one with other owners does not', async () => {
      const alone = await call(session, 'POST /teams', { name: 'alone' });
      const aloneId = String(alone.body['id']);
      const [owned, shared] = [
        await invite(aloneId, session, { email: squatter.email, role: 'owner' }),
        await invite(other.teamId, other.token, { email: squatter.email, role: 'owner' }),
      ];
      for (const [team, invited, as] of [
        [aloneId, owned, session],
        [other.teamId, shared, other.token],
      ] as const) {
        await accept(invited, squatter.token);
        expect((await confirm(team, inviteId(invited), as)).status).toBe(200);
      }
      const { userId } = (await call(session, 'GET /account')).body;
      expect(await statusOf(session, `DELETE /teams/${aloneId}/members/${String(userId)}`)).toBe(204);
      await use(await claim(squatter.email));
      const owner = await signIn(server, squatter.email, 'the true owner knows');
      expect(await teamsOf(owner.token)).toEqual([aloneId]);
      expect((await call(owner.token, `GET /teams/${aloneId}`)).body).toMatchObject({ role: 'owner' });
    });

    it('nobody holds the name or the address that it will have instead', async () => {
      const name = `gone-${squatter.userId.replace(/^user_/, '')}`;
      const guest = await invite(teamId, session, { email: `${name}@account.invalid`, role: 'viewer' });
      const held = { token: guest.body['token'], username: newName(), password: 'whoever comes first' };
      await server.call('POST /invites/accept', { body: held });
      const namesake = await join(server, session, { teamId, role: 'viewer' });
      const renamed = await call(namesake.token, 'PATCH /account/username', { username: name });
      expect(renamed.status).toBe(200);
      expect((await use(await claim(squatter.email))).status).toBe(201);
      expect(await statusOf(squatter.token, 'GET /account')).toBe(401);
    });

    it('an address without an account gets its verified one', async () => {
      const email = `${newName()}@example.com`;
      const made = await use(await claim(email));
      expect(made.status).toBe(201);
      const { token } = await signIn(server, email, 'the true owner knows');
      expect(await statusOf(token, 'POST /teams', { name: 'own' })).toBe(201);
    });

    it('a claim is for staff with a session, for addresses without a verified account, once, and for 7 days', async () => {
      const body = { email: squatter.email };
      const make = async (as: string) => await codeOf(as, 'POST /admin/account-claims', body);
      expect(await make(other.token)).toBe('scope_missing');
      expect(await make(server.first.staffApiKey)).toBe('session_required');
      expect(await outcomeOf(session, 'POST /admin/account-claims', { email: other.email })).toBe(
        '409 state_conflict',
      );

      const [first, second] = [await claim(squatter.email), await claim(squatter.email)];
      expect((await use(first)).code).toBe('claim_invalid');
      await server.db.sql`update account_claims set expires_at = now() where email = ${squatter.email}`;
      expect((await use(second)).code).toBe('claim_invalid');
      const third = await claim(squatter.email);
      expect((await use(third, squatter.username)).status).toBe(201); // its name too
      const both = await claim(`${newName()}@example.com`);
      const at = await Promise.all([use(both), use(both)]);
      expect(at.filter(({ status }) => status === 201)).toHaveLength(1);
    });

    it('an account that was verified meanwhile does not give way', async () => {
      const token = await claim(squatter.email);
      await verify(server, squatter.userId);
      expect((await use(token)).code).toBe('state_conflict');
      expect(await statusOf(squatter.token, 'GET /account')).toBe(200);
    });

    it('a name that is taken leaves the account that gives way, and the claim, as they were', async () => {
      const token = await claim(squatter.email);
      expect((await use(token, other.username)).code).toBe('username_taken');
      expect(await statusOf(squatter.token, 'GET /account')).toBe(200);
      expect((await use(token)).status).toBe(201);
    });
  });
});
