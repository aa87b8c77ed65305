/** Sign-in, sessions, one-time codes and passwords over the real door, with a clock that is moved by hand. */
import { beforeEach, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { firstSession, join, PASSWORD, signIn, type Person } from '../../../test/setup/people.ts';
import { useServer } from '../../../test/setup/use-server.ts';
import { TEST_PASSWORD_COST } from '../../../test/setup/server.ts';
import { createFakeClock } from '../../../test/setup/clock.ts';
import { createPasswords } from '../../base/password.ts';
import type { CallContext } from '@svc/proto/http/call.ts';
import { purgeSessions } from './index.ts';
import { openSession } from './sessions.ts';
import { findUserById, renewPasswordHash } from './store.ts';
import { stepAt, totpCode } from './totp-code.ts';

const HOUR = 3_600_000;

/** Decodes base32 as an authenticator app does. */
function fromBase32(text: string): Buffer {
  const bits = [...text]
    .map((char) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(char).toString(2).padStart(5, '0'))
    .join('');
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}

describe.skipIf(!(await has('postgres')))('accounts', () => {
  const clock = createFakeClock(new Date('2026-05-01T00:00:00Z'));
  const { server, call, codeOf, statusOf } = useServer({ clock, env: { TRUSTED_PROXIES: '127.0.0.1' } });
  let person: Person;

  beforeEach(async () => {
    person = await join(server, server.first.apiKey, { teamId: server.first.teamId, role: 'developer' });
  });

  const login = async (body: Record<string, unknown>, headers: Record<string, string> = {}) =>
    await server.call('POST /auth/login', {
      body: { email: person.email, password: PASSWORD, ...body },
      headers,
    });
  const sessionStatus = async (token: string): Promise<number> => await statusOf(token, 'GET /account');
  /** Use is written down in batches: this is what the server does every few seconds. */
  const usedNow = async (userId: string): Promise<void> => {
    await server.db.sql`update sessions set last_seen_at = ${clock.now()} where user_id = ${userId}`;
  };

  describe('a password that is changed while somebody signs in with the old one', () => {
    it('neither comes back nor leaves a session behind', async () => {
      const { db } = server;
      const before = await findUserById(db, person.userId);
      if (before === undefined) throw new Error('nobody there');
      const change = { currentPassword: PASSWORD, newPassword: 'a wholly new one' };
      const changed = await call(person.token, 'POST /account/password', change);
      expect(changed.status, changed.text).toBe(204);
      const times = { idleMs: HOUR, absoluteMs: HOUR, staffIdleMs: HOUR, staffAbsoluteMs: HOUR };
      const call_ = { header: () => undefined, remoteAddress: '127.0.0.1' } as unknown as CallContext;
      const method = 'password' as const;
      expect(await openSession({ db, clock, times, method, call: call_ }, before)).toBeUndefined();
      expect(await renewPasswordHash(db, before, before.passwordHash)).toBe(false);
      expect((await login({})).code).toBe('credentials_invalid');
      expect((await login({ password: 'a wholly new one' })).status).toBe(200);
    });

    it('is refused also where its hash was to be made anew', async () => {
      const weak = createPasswords({ ln: 9, r: 8, p: 1 });
      const { userId } = person;
      await server.db.sql`update users set password_hash = ${await weak.hash(PASSWORD)} where id = ${userId}`;
      expect((await login({})).status).toBe(200);
      const [row] = await server.db.sql`select password_hash from users where id = ${userId}`;
      expect(row?.['password_hash']).toContain(`ln=${TEST_PASSWORD_COST.ln},`);
      expect((await login({})).status).toBe(200);
    });
  });

  describe('the sessions of an account', () => {
    type Listed = Array<{
      id: string;
      current: boolean;
      method: string;
      remoteAddress: string;
      userAgent: string;
    }>;
    const sessionsOf = async (token: string): Promise<Listed> =>
      (await call(token, 'GET /account/sessions')).body['sessions'] as Listed;

    it('say with what and from where they began, and are ended one by one', async () => {
      const headers = { 'user-agent': `svc/1 ${'x'.repeat(300)}`, 'x-forwarded-for': '198.51.100.7' };
      const other = String((await login({}, headers)).body['token']);
      const listed = await sessionsOf(person.token);
      expect(listed).toHaveLength(2);
      const [away, own] = [false, true].map((current) => listed.find((each) => each.current === current));
      expect(away).toMatchObject({ method: 'password', remoteAddress: '198.51.100.7' });
      expect(away?.userAgent).toHaveLength(200);
      expect(JSON.stringify(listed)).not.toMatch(/token|hash/i);
      expect(await statusOf(person.token, `DELETE /account/sessions/${away?.id}`)).toBe(204);
      expect(await sessionStatus(other)).toBe(401);
      expect(await codeOf(person.token, `DELETE /account/sessions/${away?.id}`)).toBe('not_found');
      expect(await statusOf(person.token, `DELETE /account/sessions/${own?.id}`)).toBe(204);
      expect(await sessionStatus(person.token)).toBe(401);
    });

    it('are nobody else’s, and are ended all but one', async () => {
      const neighbour = await join(server, server.first.apiKey, {
        teamId: server.first.teamId,
        role: 'developer',
      });
      const [theirs] = await sessionsOf(neighbour.token);
      expect(await codeOf(person.token, `DELETE /account/sessions/${theirs?.id}`)).toBe('not_found');
      const others = [String((await login({})).body['token']), String((await login({})).body['token'])];
      const done = await call(person.token, 'POST /account/sessions/revoke-others', {});
      expect(done.body).toEqual({ ended: 2 });
      for (const token of others) expect(await sessionStatus(token)).toBe(401);
      expect(await sessionStatus(person.token)).toBe(200);
      expect(await sessionStatus(neighbour.token)).toBe(200);
      const [own] = await sessionsOf(person.token);
      const idle = String((await login({})).body['token']);
      clock.advance(13 * HOUR);
      await server.db.sql`update sessions set last_seen_at = ${clock.now()} where id = ${own?.id ?? ''}`;
      expect(await sessionsOf(person.token)).toMatchObject([{ id: own?.id, current: true }]);
      expect(await sessionStatus(idle)).toBe(401);
    });

    it('of a member are ended by an owner in person', async () => {
      const { teamId, apiKey } = server.first;
      const owner = await firstSession(server);
      const route = `POST /teams/${teamId}/members/${person.userId}/end-sessions`;
      expect(await codeOf(apiKey, route, {})).toBe('session_required');
      const admin = await join(server, apiKey, { teamId, role: 'admin' });
      expect(await codeOf(admin.token, route, {})).toBe('role_insufficient');
      expect((await call(owner, route, {})).body).toEqual({ ended: 1 });
      expect(await sessionStatus(person.token)).toBe(401);
      expect((await call(owner, route, {})).body).toEqual({ ended: 0 });
      expect(await codeOf(owner, `POST /teams/${teamId}/members/user_none/end-sessions`, {})).toBe(
        'not_found',
      );
    });
  });

  describe('a session', () => {
    it('tells who one is', async () => {
      const { body } = await call(person.token, 'GET /account');
      expect(body).toMatchObject({
        userId: person.userId,
        email: person.email,
        staff: false,
        credential: 'session',
      });
      expect(body['teams']).toEqual([{ teamId: server.first.teamId, name: 'first team', role: 'developer' }]);
      expect(body['scopes']).not.toContain('staff');
      expect(body['scopes']).not.toContain('ci:write');
    });

    it('ends after 12 hours without use', async () => {
      clock.advance(12 * HOUR - 1);
      expect(await sessionStatus(person.token)).toBe(200);
      await usedNow(person.userId);
      clock.advance(12 * HOUR - 1);
      expect(await sessionStatus(person.token)).toBe(200);
      clock.advance(12 * HOUR + 1);
      expect(await sessionStatus(person.token)).toBe(401);
    });

    it('ends after 7 days however much it is used', async () => {
      for (let hours = 0; hours < 7 * 24; hours += 8) {
        expect(await sessionStatus(person.token), `after ${hours} h`).toBe(200);
        await usedNow(person.userId);
        clock.advance(8 * HOUR);
      }
      expect(await sessionStatus(person.token)).toBe(401);
    });

    it('of staff ends after 30 minutes without use', async () => {
      const staff = await signIn(server, server.first.staffEmail, server.first.staffPassword);
      clock.advance(29 * 60_000);
      expect(await sessionStatus(staff.token)).toBe(200);
      clock.advance(31 * 60_000);
      expect(await sessionStatus(staff.token)).toBe(401);
    });

    it('ends at once with sign-out', async () => {
      expect(await statusOf(person.token, 'POST /auth/logout', {})).toBe(204);
      expect(await sessionStatus(person.token)).toBe(401);
      expect(await statusOf(person.token, 'POST /auth/logout', {})).toBe(401);
    });

    it('is forgotten when it is over', async () => {
      clock.advance(13 * HOUR);
      await usedNow(person.userId);
      await purgeSessions(server.db, clock, {
        idleMs: 12 * HOUR,
        absoluteMs: 168 * HOUR,
        staffIdleMs: HOUR,
        staffAbsoluteMs: HOUR,
      });
      const [row] = await server.db
        .sql`select count(*)::int as n from sessions where user_id <> ${person.userId}`;
      expect(row?.['n']).toBe(0);
      expect(await sessionStatus(person.token)).toBe(200);
    });

    it('is stored as a hash', async () => {
      const rows = await server.db.sql`select row_to_json(s)::text as text from sessions s`;
      expect(rows.map((row) => row['text']).join()).not.toContain(person.token.slice(5));
    });
  });

  describe('sign-in', () => {
    it('does not tell whether the account or the password is wrong', async () => {
      const wrong = await login({ password: 'not the password' });
      const nobody = await login({ email: 'nobody@example.com' });
      expect([wrong.status, wrong.code]).toEqual([401, 'credentials_invalid']);
      expect((nobody.body['error'] as { message: string }).message).toBe(
        (wrong.body['error'] as { message: string }).message,
      );
    });

    it('does not care about the letter case of the address', async () => {
      expect((await login({ email: person.email.toUpperCase() })).status).toBe(200);
    });

    it('from elsewhere does not use up the tries of an account’s owner', async () => {
      const from = (address: string) => ({ 'x-forwarded-for': address });
      for (let n = 0; n < 30; n += 1)
        await login({ password: `wrong ${n}` }, from(`198.51.100.${n % 3}:${40_000 + n}`));
      expect((await login({}, from('198.51.100.1'))).code).toBe('rate_limited');
      expect((await login({}, from('2001:db8::1'))).status).toBe(200);
    });

    it('of one account is slowed after ten wrong passwords, and recovers', async () => {
      for (let n = 0; n < 10; n += 1) expect((await login({ password: `wrong ${n}` })).status).toBe(401);
      const refused = await login({});
      expect([refused.status, refused.code]).toEqual([429, 'rate_limited']);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
      clock.advance(15 * 60_000);
      expect((await login({})).status).toBe(200);
    });
  });

  describe('a one-time code', () => {
    async function enroll(): Promise<{ secret: Buffer; recovery: string[] }> {
      const begun = await call(person.token, 'POST /account/totp', {});
      expect(begun.status).toBe(201);
      expect(begun.body['otpauthUrl']).toContain(encodeURIComponent(person.email));
      const secret = fromBase32(String(begun.body['secret']));
      const code = totpCode(secret, stepAt(clock.now()));
      const done = await call(person.token, 'POST /account/totp/confirm', { code });
      expect(done.status, done.text).toBe(200);
      return { secret, recovery: done.body['recoveryCodes'] as string[] };
    }
    const next = (): void => clock.advance(30_000);

    it('is asked for once it is confirmed, and counts once', async () => {
      const { secret } = await enroll();
      expect((await login({})).code).toBe('totp_required');
      next();
      const code = totpCode(secret, stepAt(clock.now()));
      const both = await Promise.all([login({ totpCode: code }), login({ totpCode: code })]);
      expect(both.map((answer) => answer.status).toSorted((a, b) => a - b)).toEqual([200, 401]);
      expect((await login({ totpCode: code })).code).toBe('totp_invalid');
    });

    it('says nothing before the password is right', async () => {
      await enroll();
      expect((await login({ password: 'wrong' })).code).toBe('credentials_invalid');
    });

    it('can be replaced by each recovery code once', async () => {
      const { recovery } = await enroll();
      expect(new Set(recovery).size).toBe(10);
      expect((await login({ totpCode: recovery[0] })).status).toBe(200);
      expect((await login({ totpCode: recovery[0] })).code).toBe('totp_invalid');
      const { body } = await call(person.token, 'GET /account/totp');
      expect(body).toMatchObject({ enrolled: true, recoveryCodesLeft: 9 });
    });

    it('may be tried five times in 15 minutes', async () => {
      const { secret } = await enroll();
      for (let n = 0; n < 5; n += 1) expect((await login({ totpCode: '000000' })).code).toBe('totp_invalid');
      next();
      expect((await login({ totpCode: totpCode(secret, stepAt(clock.now())) })).code).toBe('rate_limited');
      clock.advance(15 * 60_000);
      expect((await login({ totpCode: totpCode(secret, stepAt(clock.now())) })).status).toBe(200);
    });

    it('cannot be enrolled twice, and can be turned off', async () => {
      await enroll();
      expect(await codeOf(person.token, 'POST /account/totp', {})).toBe('totp_already_enrolled');
      expect(await codeOf(person.token, 'POST /account/totp/confirm', { code: '123456' })).toBe(
        'totp_not_pending',
      );
      const off = { as: person.token, body: { currentPassword: PASSWORD } };
      expect((await server.call('POST /account/totp/disable', off)).status).toBe(204);
      expect((await call(person.token, 'GET /account/totp')).body).toMatchObject({ enrolled: false });
      expect((await login({})).status).toBe(200);
    });

    describe('is not turned off by a session alone', () => {
      const enrolled = async (): Promise<boolean> =>
        (await call(person.token, 'GET /account/totp')).body['enrolled'] === true;
      const off = async (body: Record<string, unknown>) =>
        await call(person.token, 'POST /account/totp/disable', body);
      const offByConnect = async (body: Record<string, unknown>) =>
        await call(person.token, 'POST /svc.account.v1.AccountService/TotpDisable', body);

      it('by any door, with nothing or with what is wrong', async () => {
        await enroll();
        expect((await off({})).code).toBe('proof_required');
        expect((await offByConnect({})).status).toBe(403);
        expect(await statusOf(person.token, 'DELETE /account/totp')).toBe(405);
        expect((await off({ currentPassword: 'not the password' })).code).toBe('credentials_invalid');
        expect((await offByConnect({ currentPassword: 'not the password' })).status).toBe(401);
        expect((await off({ code: '000000' })).code).toBe('totp_invalid');
        expect((await off({ code: 'not-a-recovery-code' })).code).toBe('totp_invalid');
        // Each of two that are sent must be right.
        expect((await off({ currentPassword: PASSWORD, code: '000000' })).code).toBe('totp_invalid');
        expect(await statusOf(person.token, 'POST /account/totp', {})).toBe(409);
        expect(await enrolled()).toBe(true);
      });

      it('but by the password, by a code, or by a recovery code', async () => {
        for (const proof of ['password', 'code', 'recovery']) {
          const { secret, recovery } = await enroll();
          next();
          const code = proof === 'code' ? totpCode(secret, stepAt(clock.now())) : recovery[3];
          const answer = await off(proof === 'password' ? { currentPassword: PASSWORD } : { code });
          expect(answer.status, proof).toBe(204);
          expect(await enrolled()).toBe(false);
          next();
        }
      });

      it('but for ten minutes by one that began with both factors', async () => {
        const { secret } = await enroll();
        const both = async (): Promise<string> => {
          next();
          return String((await login({ totpCode: totpCode(secret, stepAt(clock.now())) })).body['token']);
        };
        const by = async (token: string) => await call(token, 'POST /account/totp/disable', {});
        const stale = await both();
        clock.advance(10 * 60_000);
        const refusal = await by(stale);
        expect([refusal.status, refusal.code]).toEqual([403, 'proof_required']);
        expect(refusal.text).toContain('within the last 10 minutes');
        const fresh = await both();
        clock.advance(10 * 60_000 - 1);
        expect((await by(fresh)).status).toBe(204);
        expect(await enrolled()).toBe(false);
        // It began before there was this one: with a password alone, for all that its sign-in asked for.
        await enroll();
        expect((await by(fresh)).code).toBe('proof_required');
      });

      it('by guessing: wrong ones count as tries, with those of sign-in', async () => {
        const { secret } = await enroll();
        for (let n = 0; n < 5; n += 1) expect((await off({ code: '000000' })).code).toBe('totp_invalid');
        next();
        const code = totpCode(secret, stepAt(clock.now()));
        expect((await off({ code })).code).toBe('rate_limited');
        expect((await login({ totpCode: code })).code).toBe('rate_limited');
        for (let n = 0; n < 10; n += 1)
          expect((await off({ currentPassword: `wrong ${n}` })).code).toBe('credentials_invalid');
        expect((await off({ currentPassword: PASSWORD })).code).toBe('rate_limited');
        expect(await enrolled()).toBe(true);
      });
    });

    it('has its secret stored sealed and bound to its account', async () => {
      await enroll();
      const [row] = await server.db.sql`select secret from totp where user_id = ${person.userId}`;
      expect(row?.['secret']).toMatch(/^v1\./);
    });
  });

  describe('a password change', () => {
    const change = async (body: Record<string, unknown>) =>
      await call(person.token, 'POST /account/password', {
        currentPassword: PASSWORD,
        newPassword: 'another long password',
        ...body,
      });

    it('needs the old one and ends every other session', async () => {
      const other = await signIn(server, person.email);
      expect((await change({ currentPassword: 'wrong password' })).code).toBe('credentials_invalid');
      expect(await sessionStatus(other.token)).toBe(200);
      expect((await change({})).status).toBe(204);
      expect(await sessionStatus(other.token)).toBe(401);
      expect(await sessionStatus(person.token)).toBe(200);
      expect((await login({})).status).toBe(401);
      expect((await login({ password: 'another long password' })).status).toBe(200);
    });

    it.each([
      ['too short', 'short'],
      ['of few characters', 'aaaaaaaaaaaaaaaa'],
      ['longer than 256 bytes', 'x'.repeat(257)],
    ])('refuses one that is %s', async (_what, newPassword) => {
      expect((await change({ newPassword })).status).toBe(400);
    });

    it('refuses the e-mail address', async () => {
      expect((await change({ newPassword: person.email.toUpperCase() })).code).toBe('password_weak');
    });
  });

  it('keeps user names unique', async () => {
    const taken = await join(server, server.first.apiKey, { teamId: server.first.teamId, role: 'viewer' });
    const rename = async (username: string) =>
      await call(person.token, 'PATCH /account/username', { username });
    expect((await rename(taken.username)).code).toBe('username_taken');
    expect((await rename('Not-Allowed')).code).toBe('validation_failed');
    expect((await rename(`n-${person.username}`)).body).toMatchObject({ username: `n-${person.username}` });
  });

  it('tells the limits of the installation', async () => {
    expect((await call(person.token, 'GET /account/plan')).body).toMatchObject({
      name: 'self_hosted',
      apiKeysMax: 100,
    });
  });
});
