/**
 * Who pays for a team stays in it while there is a provider of payments, and bought credit keeps a team from
 * being deleted.
 */
import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { firstSession, join, stranger, verify, type Person } from '../../../test/setup/people.ts';
import { useServer, withServer } from '../../../test/setup/use-server.ts';
import { purchase, refund, useCredit } from '../../money/credits/index.ts';
import { becomePayer, payerOf } from './payers.ts';

const at = new Date('2026-03-01T12:00:00Z');
/** Nothing listens there: these tests ask the provider for nothing. */
const PROVIDER = {
  STRIPE_SECRET_KEY: 'sk_test_payers',
  STRIPE_WEBHOOK_SECRETS: 'whsec_payers',
  STRIPE_API_BASE: 'http://127.0.0.1:9',
};

describe.skipIf(!(await has('postgres')))('a team that is paid for', () => {
  const { server } = useServer({ env: PROVIDER });
  let founder: Person & { readonly teamId: string };
  let second: Person;

  beforeAll(async () => {
    founder = await stranger(server);
    second = await join(server, founder.token, { teamId: founder.teamId, role: 'owner' });
  });

  const newTeam = async (): Promise<string> => {
    const made = await server.call('POST /teams', { as: founder.token, body: { name: 'crew' } });
    expect(made.status, made.text).toBe(201);
    return String(made.body['id']);
  };
  const remove = async (teamId: string, { token }: Person, { userId }: Person) =>
    await server.call(`DELETE /teams/${teamId}/members/${userId}`, { as: token });
  const payer = async (teamId: string) => await payerOf(server.db.sql, teamId);

  it('keeps its payer until another owner takes that over', async () => {
    const { teamId } = founder;
    expect(await payer(teamId)).toBe(founder.userId);
    for (const who of [founder, second]) {
      const answer = await remove(teamId, who, founder);
      expect([answer.status, answer.code]).toEqual([409, 'billing_payer']);
      expect(answer.text).toContain(`svc billing become-payer --team ${teamId}`);
      expect(answer.text).toContain(founder.username);
    }
    await becomePayer(server.db, { teamId, payerId: second.userId, now: new Date() });
    expect((await remove(teamId, second, second)).code).toBe('billing_payer');
    expect((await remove(teamId, founder, founder)).status).toBe(204);
    founder = { ...(await stranger(server)) };
    second = await join(server, founder.token, { teamId: founder.teamId, role: 'owner' });
  });

  it('is held against the plans of both when another owner takes it over, with all that they pay for', async () => {
    const [moved, left] = [await newTeam(), await newTeam()];
    const other = await join(server, founder.token, { teamId: moved, role: 'owner' });
    const { sql } = server.db;
    await sql`
      insert into spend_gates (team_id, scope, cause, details, since)
      select g.id, '', 'included_time', '{}', now() + interval '1 minute' from unnest(${[moved, left]}::text[]) g(id)`;
    const taken = await server.call(`POST /teams/${moved}/billing/payer`, { as: other.token, body: {} });
    expect(taken.status, taken.text).toBe(200);
    // Each is marked, or an evaluation that took the mark has opened its gate already.
    const waiting = await sql`
      select from spend_gates g where g.team_id = any(${[moved, left]}::text[]) and not exists (select from spend_dirty d where d.team_id = g.team_id)`;
    expect(waiting).toHaveLength(0);
  });

  it('lets its payer step down', async () => {
    const teamId = await newTeam();
    const other = await join(server, founder.token, { teamId, role: 'owner' });
    const role = { as: other.token, body: { role: 'viewer' } };
    expect((await server.call(`PATCH /teams/${teamId}/members/${founder.userId}`, role)).status).toBe(200);
    expect((await remove(teamId, other, founder)).code).toBe('billing_payer');
  });

  describe('changes its payer', () => {
    const rows = async (teamId: string) =>
      await server.db.sql<Array<{ payerId: string; fromAt: Date }>>`
        select payer_id as "payerId", from_at as "fromAt" from team_payers where team_id = ${teamId} order by from_at`;

    it('one after the other when two take over at the same moment', async () => {
      const teamId = await newTeam();
      const owners = [await join(server, founder.token, { teamId, role: 'owner' }), founder];
      const now = new Date(Date.now() + 1_000);
      const taken = await Promise.all(
        [...owners, ...owners].map(
          async ({ userId: payerId }) => await becomePayer(server.db, { teamId, payerId, now }),
        ),
      );
      const [first, ...changes] = await rows(teamId);
      expect(first?.payerId).toBe(founder.userId);
      expect(changes).toHaveLength(taken.filter(Boolean).length);
      expect(changes.map(({ fromAt }) => fromAt.getTime())).toEqual(changes.map((_, n) => now.getTime() + n));
      for (const [n, { payerId }] of changes.entries())
        expect(payerId).not.toBe((changes[n - 1] ?? first)?.payerId);
      expect(await payer(teamId)).toBe(changes.at(-1)?.payerId);
    });

    it('once for who takes over twice, also by a clock that is behind, and to owners alone', async () => {
      const teamId = await newTeam();
      const { userId } = await join(server, founder.token, { teamId, role: 'owner' });
      const admin = await join(server, founder.token, { teamId, role: 'admin' });
      const becoming = async (payerId: string, now = new Date()) =>
        await becomePayer(server.db, { teamId, payerId, now });
      const both = await Promise.all([becoming(userId), becoming(userId)]);
      expect(both.filter(Boolean)).toHaveLength(1);
      expect(await rows(teamId)).toHaveLength(2);
      expect(await becoming(founder.userId, at)).toBe(true);
      expect(await payer(teamId)).toBe(founder.userId);
      await expect(becoming(admin.userId)).rejects.toMatchObject({ code: 'role_insufficient' });
      await expect(becoming('user_nobody')).rejects.toMatchObject({ code: 'not_found' });
      const nowhere = { teamId: 'team_nowhere', payerId: userId, now: at };
      await expect(becomePayer(server.db, nowhere)).rejects.toMatchObject({ code: 'not_found' });
    });

    it('or loses who leaves, never both', async () => {
      for (let round = 0; round < 5; round += 1) {
        const teamId = await newTeam();
        const other = await join(server, founder.token, { teamId, role: 'owner' });
        const [taken, left] = await Promise.all([
          becomePayer(server.db, { teamId, payerId: other.userId, now: new Date() }).catch(() => false),
          remove(teamId, other, other),
        ]);
        expect(taken ? [left.status, left.code] : left.status).toEqual(taken ? [409, 'billing_payer'] : 204);
        expect(await payer(teamId)).toBe(taken ? other.userId : founder.userId);
      }
    });
  });

  it('is paid for by who takes it over from an account that gives way, and else by an owner who is left', async () => {
    // Nobody verified the address of the paying account.
    const [alone, shared] = [await newTeam(), await newTeam()];
    const squatter = await join(server, founder.token, { teamId: alone, role: 'owner' });
    await server.db.sql`
      insert into team_members (team_id, user_id, role, joined_at) values (${shared}, ${squatter.userId}, 'owner', now())`;
    for (const teamId of [alone, shared])
      await becomePayer(server.db, { teamId, payerId: squatter.userId, now: new Date() });
    expect((await remove(alone, founder, founder)).status).toBe(204);
    const session = await firstSession(server);
    const claimed = await server.call('POST /admin/account-claims', {
      as: session,
      body: { email: squatter.email },
    });
    const username = `p${randomBytes(5).toString('hex')}`;
    const body = { token: claimed.body['token'], username, password: 'the true owner knows' };
    const made = await server.call('POST /account/claim', { body });
    expect(made.status, made.text).toBe(201);
    const to = String(made.body['userId']);
    expect([await payer(alone), await payer(shared)]).toEqual([to, founder.userId]);
    const acts = await server.db.sql`
      select chain, actor_id as actor, details from audit_entries where action = 'billing.payer_changed' and chain in (${alone}, ${shared}) order by chain`;
    expect(acts).toEqual([
      { chain: alone, actor: to, details: { from: squatter.userId, to } },
      { chain: shared, actor: to, details: { from: squatter.userId, to: founder.userId } },
    ]);
  });

  describe('with credit', () => {
    const buy = async (teamId: string, cents = 500) =>
      await purchase(server.db, { teamId, cents, source: `cs_${teamId}`, at });
    const drop = async (teamId: string) =>
      await server.call(`DELETE /teams/${teamId}`, { as: founder.token });

    it('is deleted when none that was bought is left', async () => {
      const [used, refunded] = [await newTeam(), await newTeam()];
      for (const teamId of [used, refunded]) {
        await buy(teamId);
        const answer = await drop(teamId);
        expect([answer.status, answer.code]).toEqual([409, 'credit_remaining']);
        expect(answer.text).toContain('500 minor units');
      }
      await useCredit(server.db, { currency: 'usd', teamId: used, cents: 500, source: 'stm_1', at });
      await refund(server.db, { purchase: `cs_${refunded}`, totalCents: 500, at });
      expect([(await drop(used)).status, (await drop(refunded)).status]).toEqual([204, 204]);
    });

    it('that comes while it is deleted either keeps it or is told that it is gone', async () => {
      for (let round = 0; round < 6; round += 1) {
        const teamId = await newTeam();
        const [bought, dropped] = await Promise.all([buy(teamId), drop(teamId)]);
        expect([204, 409]).toContain(dropped.status);
        expect(bought.teamGone).toBe(dropped.status === 204);
      }
    });
  });

  it('without a provider lets anybody leave', async () => {
    await withServer({}, async (free) => {
      const one = await stranger(free);
      const other = await join(free, one.token, { teamId: one.teamId, role: 'owner' });
      await verify(free, other.userId);
      const left = await free.call(`DELETE /teams/${one.teamId}/members/${one.userId}`, { as: one.token });
      expect(left.status).toBe(204);
    });
  });
});
