/**
 * Strangers who send wrong credentials from the same address take nothing away from those who have a right
 * one.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { has } from '../../test/setup/needs.ts';
import { newKey, stranger, type Person } from '../../test/setup/people.ts';
import { useServer } from '../../test/setup/use-server.ts';
import { formatKey } from '../access/apikeys/key.ts';
import { createFakeClock } from '../../test/setup/clock.ts';

const postgresHere = await has('postgres');

/** As many wrong ones as a network may send a minute: three times LIMIT_LOGINS_PER_MINUTE. */
const WRONG_MAX = 60;
const LOOKS_MAX = 300;

describe.skipIf(!postgresHere)('wrong credentials', () => {
  const clock = createFakeClock(new Date('2026-05-01T00:00:00Z'));
  const { server } = useServer({
    clock,
    env: { TRUSTED_PROXIES: '127.0.0.1', LIMIT_LOGINS_PER_MINUTE: '20' },
  });
  let owner: Person;
  let wrong = 0;

  beforeAll(async () => {
    owner = await stranger(server);
  });

  const whoAmI = async (as: string, address: string) =>
    await server.call('GET /account', { as, headers: { 'x-forwarded-for': address } });
  /** Well formed, so that only the database knows better. */
  const wrongKey = (): string => {
    wrong += 1;
    return formatKey({ kid: String(wrong).padStart(12, '0'), secret: 'x'.repeat(32) });
  };
  async function sendWrong(count: number, address: (n: number) => string): Promise<number[]> {
    const seen = new Set<number>();
    for (let n = 0; n < count; n += 1) {
      const as = [wrongKey(), 'nonsense', `sest_${'a'.repeat(43)}`, 'eyJ.a.b'][n % 4];
      seen.add((await whoAmI(as ?? '', address(n))).status);
    }
    return [...seen];
  }

  it('block further wrong ones of their address, and no right one, whether it was used here before or not', async () => {
    const address = '198.51.100.7';
    const before = (await newKey(server, owner.token)).secret;
    expect((await whoAmI(before, address)).status).toBe(200);
    expect(await sendWrong(WRONG_MAX, () => address)).toEqual([401]);
    expect(await sendWrong(4, () => address)).toEqual([429]);
    clock.advance(1_500); // no longer than that a proven credential is taken without a look
    const fresh = (await newKey(server, owner.token)).secret;
    for (const right of [before, fresh, owner.token]) expect((await whoAmI(right, address)).status).toBe(200);
    const connect = await server.call('POST /svc.account.v1.AccountService/Whoami', {
      as: fresh,
      body: {},
      headers: { 'x-forwarded-for': address },
    });
    expect(connect.status).toBe(200);
    const login = { email: owner.email, password: owner.password };
    const from = { 'x-forwarded-for': address };
    expect((await server.call('POST /auth/login', { body: login, headers: from })).status).toBe(200);
  });

  it('in great numbers cost a bounded number of looks, and who was here lately stays', async () => {
    const address = '198.51.100.8';
    const known = (await newKey(server, owner.token)).secret;
    expect((await whoAmI(known, '203.0.113.1')).status).toBe(200);
    for (let n = 0; n < WRONG_MAX + LOOKS_MAX; n += 1) await whoAmI(wrongKey(), address);
    const refused = await whoAmI(wrongKey(), address);
    expect([refused.status, refused.code]).toEqual([429, 'rate_limited']);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    const fresh = (await newKey(server, owner.token)).secret;
    expect((await whoAmI(fresh, address)).status).toBe(429);
    clock.advance(1_500);
    expect((await whoAmI(known, address)).status).toBe(200);
  });

  it('of one IPv6 customer count together, and with any port', async () => {
    const address = (n: number) => `[2001:db8:1:2::${n.toString(16)}]:${1_000 + n}`;
    expect(await sendWrong(WRONG_MAX, address)).toEqual([401]);
    expect((await whoAmI('nonsense', '2001:DB8:1:2:ffff::1')).status).toBe(429);
    expect((await whoAmI('nonsense', '2001:db8:1:3::1')).status).toBe(401);
    const ports = (n: number) => `198.51.100.9:${1_000 + n}`;
    expect(await sendWrong(WRONG_MAX, ports)).toEqual([401]);
    expect((await whoAmI('nonsense', '::ffff:198.51.100.9')).status).toBe(429);
  });

  it('that were right once are wrong like all others once they are revoked', async () => {
    const address = '198.51.100.10';
    const { id, secret } = await newKey(server, owner.token);
    expect((await whoAmI(secret, address)).status).toBe(200);
    await server.call(`DELETE /api-keys/${id}`, { as: owner.token });
    clock.advance(1_500);
    expect((await whoAmI(secret, address)).status).toBe(401);
  });
});
