/** Who makes, sees and ends API keys, over the real door: REST and Connect, two servers on one database. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { firstSession, join, newKey, signIn } from '../../../test/setup/people.ts';
import { useServer } from '../../../test/setup/use-server.ts';
import {
  startTestServer,
  type CallOptions,
  type TestResponse,
  type TestServer,
} from '../../../test/setup/server.ts';
import { createFakeClock } from '../../../test/setup/clock.ts';
import { KEY_SCOPE, TEAM_SCOPES } from '../../kit/scopes.ts';

const DAY_MS = 86_400_000;

interface Shown {
  readonly id: string;
  readonly scopes: readonly string[];
  readonly expiresAt: string;
  readonly revokedAt?: string;
  readonly parentId?: string;
}

describe.skipIf(!(await has('postgres')))('API keys', () => {
  const clock = createFakeClock(new Date('2026-05-01T00:00:00Z'));
  const { server, call, codeOf, statusOf } = useServer({ clock });
  let second: TestServer;
  /** It is of the first start's account, which is staff. */
  let session: string;

  beforeAll(async () => {
    second = await startTestServer({ databaseUrl: server.databaseUrl, dataDir: server.dataDir, clock });
  });
  afterAll(async () => await second.stop());
  beforeEach(async () => {
    session = await firstSession(server);
  });

  const connect = async (method: string, call: CallOptions): Promise<TestResponse> =>
    await server.call(`POST /svc.apikeys.v1.ApiKeysService/${method}`, { body: {}, ...call });
  const keysOf = async (as: string): Promise<readonly Shown[]> =>
    (await call(as, 'GET /api-keys')).body['apiKeys'] as Shown[];
  const works = async (secret: string, at = server): Promise<boolean> =>
    (await at.call('GET /account', { as: secret })).status === 200;
  const child = async (parent: string, body: Record<string, unknown>): Promise<TestResponse> =>
    await call(parent, 'POST /api-keys', { name: 'child', ...body });

  describe('are managed by a person, or by a key with key:manage:', () => {
    it.each([...TEAM_SCOPES, 'staff'])(
      'a key with %s alone neither lists, nor makes, nor revokes',
      async (scope) => {
        const target = await newKey(server, session);
        const { secret } = await newKey(server, session, { scopes: [scope] });
        const answers = [
          await call(secret, 'GET /api-keys'),
          await child(secret, { scopes: [scope] }),
          await call(secret, `DELETE /api-keys/${target.id}`),
          await call(secret, 'DELETE /api-keys/key_00000000000000000000000000'),
          await connect('List', { as: secret }),
          await connect('Create', { as: secret, body: { name: 'child' } }),
          await connect('Revoke', { as: secret, body: { apiKeyId: target.id } }),
        ];
        expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 403));
        for (const { text } of answers) expect(text).toContain('key:manage');
        expect(await works(target.secret)).toBe(true);
      },
    );

    it('the keys of the first start do not hold it, and a key gets it only by name', async () => {
      for (const as of [server.first.apiKey, server.first.staffApiKey])
        expect(await codeOf(as, 'GET /api-keys')).toBe('scope_missing');
      const { secret } = await newKey(server, session);
      expect(await codeOf(secret, 'GET /api-keys')).toBe('scope_missing');
      const manager = await newKey(server, session, { scopes: [KEY_SCOPE, 'ci:read'] });
      const made = await child(manager.secret, {});
      expect((made.body['apiKey'] as Shown).scopes).toEqual(['ci:read']);
    });

    it('staff keys are hidden from a key without the staff scope, like keys that do not exist', async () => {
      const staff = await newKey(server, session, { scopes: ['staff', 'team:read'] });
      const manager = await newKey(server, session, { scopes: [...TEAM_SCOPES, KEY_SCOPE] });
      const ids = (await keysOf(manager.secret)).map(({ id }) => id);
      expect(ids).toContain(manager.id);
      expect(ids).not.toContain(staff.id);
      const theirs = await call(manager.secret, `DELETE /api-keys/${staff.id}`);
      const none = await call(manager.secret, 'DELETE /api-keys/key_0');
      expect(theirs.status).toBe(404);
      expect(theirs.text.replace(/req_\w+/, '')).toBe(none.text.replace(/req_\w+/, ''));
      expect(await works(staff.secret)).toBe(true);
      expect((await child(manager.secret, { scopes: ['staff'] })).code).toBe('scope_missing');
      const both = await newKey(server, session, { scopes: ['staff', KEY_SCOPE] });
      expect((await keysOf(both.secret)).map(({ id }) => id)).toContain(staff.id);
      expect(await statusOf(session, `DELETE /api-keys/${staff.id}`)).toBe(204);
      expect(await works(staff.secret)).toBe(false);
    });
  });

  describe('made with a key', () => {
    it('hold no more scopes, teams or time than it', async () => {
      const { teamId } = server.first;
      const parent = await newKey(server, session, {
        scopes: [KEY_SCOPE, 'ci:read', 'ci:write'],
        teamId,
        expiresInDays: 1,
      });
      const other = await call(session, 'POST /teams', { name: 'other' });
      expect((await child(parent.secret, { scopes: ['ci:read', 'ci:manage'] })).code).toBe('scope_missing');
      expect((await child(parent.secret, { teamId: other.body['id'] })).code).toBe('not_found');
      const made = await child(parent.secret, { expiresInDays: 365 });
      const key = made.body['apiKey'] as Shown;
      expect(key).toMatchObject({ scopes: ['ci:read', 'ci:write'], teamId, parentId: parent.id });
      const parentEnd = (await keysOf(session)).find(({ id }) => id === parent.id)?.expiresAt;
      expect(key.expiresAt).toBe(parentEnd);
      const short = await child(parent.secret, { expiresInDays: 1 });
      expect((short.body['apiKey'] as Shown).expiresAt).toBe(parentEnd);
    });

    /** Makes keys of three generations, each but the last with key:manage. */
    async function line(): Promise<ReadonlyArray<{ readonly id: string; readonly secret: string }>> {
      const scopes = [KEY_SCOPE, 'team:read'];
      const first = await newKey(server, session, { scopes });
      const next = await newKey(server, first.secret, { scopes });
      return [first, next, await newKey(server, next.secret, { scopes: ['team:read'] })];
    }

    it('end with it at once, down the line, on every server', async () => {
      const [top, middle, last] = await line();
      for (const { secret } of [top!, middle!, last!])
        for (const at of [server, second]) expect(await works(secret, at)).toBe(true);
      expect(await statusOf(session, `DELETE /api-keys/${top!.id}`)).toBe(204);
      for (const { secret } of [top!, middle!, last!]) expect(await works(secret)).toBe(false);
      const endMs = performance.now() + 1_000;
      while ((await works(last!.secret, second)) && performance.now() < endMs);
      expect(await works(last!.secret, second)).toBe(false);
      const shown = (await keysOf(session)).filter(({ id }) => [middle!.id, last!.id].includes(id));
      expect(shown.map(({ revokedAt }) => revokedAt)).toEqual([expect.any(String), expect.any(String)]);
    });

    it('end when a key above ends by time, whatever their own row says', async () => {
      const [top, middle, last] = await line();
      await server.db.sql`update api_keys set expires_at = ${clock.now()} where id = ${top!.id}`;
      clock.advance(1_000);
      for (const { secret } of [top!, middle!, last!]) expect(await works(secret)).toBe(false);
    });

    it('leave the keys beside and above them alone', async () => {
      const [top, middle, last] = await line();
      expect(await statusOf(top!.secret, `DELETE /api-keys/${middle!.id}`)).toBe(204);
      expect(await works(top!.secret)).toBe(true);
      expect([await works(middle!.secret), await works(last!.secret)]).toEqual([false, false]);
    });

    it('are not made beside the revocation of the key', async () => {
      for (let round = 0; round < 5; round += 1) {
        const parent = await newKey(server, session, { scopes: [KEY_SCOPE] });
        const [made] = await Promise.all([
          child(parent.secret, { scopes: [KEY_SCOPE] }),
          second.call(`DELETE /api-keys/${parent.id}`, { as: session }),
        ]);
        if (made.status !== 201) expect(made.code).toBe('credentials_invalid');
        else expect(await works(String(made.body['secret']))).toBe(false);
      }
    });
  });

  it('of a person who leaves the team or the staff lose what came from there', async () => {
    const { teamId } = server.first;
    const person = await join(server, session, { teamId, role: 'admin' });
    await server.db.sql`update users set staff = true where id = ${person.userId}`;
    const { token } = await signIn(server, person.email);
    const manager = await newKey(server, token, { scopes: ['staff', KEY_SCOPE, 'team:read'] });
    const narrowed = await newKey(server, token, { scopes: [KEY_SCOPE, 'team:read'], teamId });
    const below = await newKey(server, manager.secret, { scopes: ['staff', 'team:read'] });
    expect(await statusOf(below.secret, 'GET /admin/platform-features')).toBe(200);
    await server.db.sql`update users set staff = false where id = ${person.userId}`;
    await call(session, `DELETE /teams/${teamId}/members/${person.userId}`);
    for (const secret of [manager.secret, below.secret]) {
      expect(await codeOf(secret, 'GET /admin/platform-features')).toBe('scope_missing');
      expect(await statusOf(secret, `GET /teams/${teamId}`)).toBe(404);
      expect((await call(secret, 'GET /teams')).body['teams']).toEqual([]);
    }
    expect((await child(manager.secret, { scopes: ['staff'] })).status).toBeGreaterThanOrEqual(403);
    // One that is for the team alone ends, and does not come back with the person.
    const back = { body: { email: person.email, role: 'developer' }, as: session };
    const invited = await server.call(`POST /teams/${teamId}/invites`, back);
    await call(token, 'POST /invites/accept', { token: invited.body['token'] });
    const { id } = invited.body['invite'] as { id: string };
    await call(session, `POST /teams/${teamId}/invites/${id}/confirm`, {});
    expect(await statusOf(token, `GET /teams/${teamId}`)).toBe(200);
    expect(await codeOf(narrowed.secret, `GET /teams/${teamId}`)).toBe('credentials_invalid');
  });

  it('of staff are for the whole platform or for a team, and never both', async () => {
    const { teamId } = server.first;
    const answer = await child(session, { scopes: ['staff'], teamId });
    expect([answer.status, answer.code]).toEqual([400, 'validation_failed']);
    // One that an earlier version made is a key of its team.
    const { id, secret } = await newKey(server, session, { scopes: ['staff', 'team:read'] });
    await server.db.sql`update api_keys set team_id = ${teamId} where id = ${id}`;
    expect(await codeOf(secret, 'GET /admin/audit')).toBe('scope_missing');
    expect(await statusOf(secret, `GET /teams/${teamId}`)).toBe(200);
  });

  it('end by the day that was asked for', async () => {
    const { secret } = await newKey(server, session, { expiresInDays: 1 });
    clock.advance(DAY_MS - 1);
    expect(await works(secret)).toBe(true);
    clock.advance(1_000);
    expect(await works(secret)).toBe(false);
  });
});
