/** These tests enroll runners and read the roster against a real PostgreSQL. */
import { randomBytes } from 'node:crypto';
import { create, toJsonString } from '@bufbuild/protobuf';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { EnrollRequestSchema } from '@svc/proto/gen/svc/runner/v1/runner_pb.ts';
import { DiagnoseResponseSchema, Health, RunnersService } from '@svc/proto/gen/svc/runners/v1/runners_pb.ts';
import { createLocalQueue } from '@svc/proto/queue/local.ts';
import type { ControlEvent, WorkQueue } from '@svc/proto/queue/queue.ts';
import { generateSigningKey } from '@svc/proto/signature/keys.ts';
import { has } from '../../../test/setup/needs.ts';
import { createUser } from '../../access/accounts/index.ts';
import { insertApiKey } from '../../access/apikeys/index.ts';
import { systemClock } from '../../base/clock.ts';
import { createSecrets } from '../../base/secrets.ts';
import { createHeartbeat } from '../work/heartbeat.ts';
import { insertMember } from '../../access/teams/index.ts';
import { unaryOf } from '../../../test/setup/engine/unary.ts';
import type { TestCall } from '../../../test/setup/work/ctx.ts';
import { createWorld, type World } from '../../../test/setup/work/world.ts';
import { createEnroll, createRunners, type Enroll } from './index.ts';
import { TIMED } from '../../../test/setup/timed.ts';

const there = await has('postgres');
const { method } = RunnersService;
const MAX = 5;
const secrets = createSecrets(randomBytes(32));

describe.skipIf(!there)('runners of a team', () => {
  let world: World;
  let team: string;
  let queue: WorkQueue;
  let enroll: Enroll;
  let service: ReturnType<typeof createRunners>;
  const events: ControlEvent[] = [];
  beforeAll(async () => {
    world = await createWorld();
    const issuer = {
      id: world.userId,
      email: 'issuer@example.com',
      username: 'issuer',
      passwordHash: '',
      staff: false,
      emailVerifiedAt: null,
      createdAt: systemClock.now(),
    };
    await createUser(world.db, issuer);
    queue = createLocalQueue();
    queue.onControl((event) => events.push(event));
    enroll = createEnroll({
      db: world.db,
      clock: systemClock,
      settings: world.settings,
      runnersPerTeamMax: MAX,
    });
    service = createRunners({
      queue,
      settings: world.settings,
      runnersPerTeamMax: MAX,
      configured: { RUNNERS_ENABLED: true, AMQP_URL: false },
      liveWaitMs: 1_500,
      wakeRelay: () => undefined,
      onError: (error) => {
        throw error;
      },
    });
  });
  afterAll(async () => await world.drop());
  beforeEach(async () => {
    team = await world.team();
    await insertMember(world.db, {
      teamId: team,
      userId: world.userId,
      role: 'owner',
      joinedAt: systemClock.now(),
    });
    events.length = 0;
  });

  const as = () => ({ db: world.db, userId: world.userId, teamIds: [team] });
  const call = unaryOf(() => service, as);
  const token = async (caller: TestCall['caller'] = {}): Promise<string> =>
    (await call(method.createEnrollToken, { teamId: team }, { ...as(), caller })).token;
  const join = async (fields: { token: string; name?: string; publicKey?: string }) =>
    await enroll(
      create(EnrollRequestSchema, { name: 'box', publicKey: generateSigningKey().publicKey, ...fields }),
    );
  const enrolled = async (name = 'box'): Promise<string> =>
    (await join({ token: await token(), name })).runnerId!;
  const kinds = async (): Promise<unknown[]> => {
    const { sql } = world.db;
    const rows = await sql`select kind from runner_events where team_id = ${team} order by seq`;
    return rows.map(({ kind }) => kind);
  };
  const list = async (more: object = {}) => (await call(method.list, { teamId: team, ...more })).runners;
  const get = async (runnerId: string) => await call(method.get, { teamId: team, runnerId });

  describe('enrollment', () => {
    it('turns a token and a key into a runner, and tells how to begin', async () => {
      const answer = await join({ token: await token() });
      expect(answer).toMatchObject({
        teamId: team,
        intervals: { heartbeatMs: 15_000, pollWaitMs: 30_000, leaseMs: 60_000 },
      });
      expect(await list()).toMatchObject([{ id: answer.runnerId, name: 'box', health: Health.NEVER_SEEN }]);
      expect(await kinds()).toEqual(['runner.enrolled']);
    });

    it('is repeated by the same token and key, and by no other key', async () => {
      const one = { token: await token(), publicKey: generateSigningKey().publicKey };
      const first = await join(one);
      expect((await join(one)).runnerId).toBe(first.runnerId);
      await expect(join({ token: one.token, name: 'other' })).rejects.toMatchObject({
        code: 'token_invalid',
      });
      await world.db.sql`update enrollment_tokens set used_at = now() - interval '16 min'`;
      await expect(join(one)).rejects.toMatchObject({ code: 'token_invalid' });
    });

    it('spends a token once when 20 runners come with it at once', async () => {
      const shared = await token();
      const calls = await Promise.allSettled(
        Array.from({ length: 20 }, async (_, i) => await join({ token: shared, name: `box-${i}` })),
      );
      expect(calls.filter((call) => call.status === 'fulfilled')).toHaveLength(1);
      expect(await list()).toHaveLength(1);
    });

    it('refuses a token that is unknown or older than 15 minutes', async () => {
      await expect(join({ token: 'enr_nothing' })).rejects.toMatchObject({
        code: 'token_invalid',
        status: 401,
      });
      const old = await token();
      await world.db.sql`update enrollment_tokens set expires_at = now() where team_id = ${team}`;
      await expect(join({ token: old })).rejects.toMatchObject({ code: 'token_invalid' });
    });

    it('refuses a weak key and keeps the token good', async () => {
      const good = await token();
      const identity = Buffer.concat([Buffer.from([1]), Buffer.alloc(31)]).toString('base64url');
      await expect(join({ token: good, publicKey: identity })).rejects.toMatchObject({
        code: 'key_weak',
        status: 400,
      });
      expect((await join({ token: good })).teamId).toBe(team);
    });

    it('tells nothing of a key, weak or taken, to whoever has no token', async () => {
      const identity = Buffer.concat([Buffer.from([1]), Buffer.alloc(31)]).toString('base64url');
      const taken = generateSigningKey().publicKey;
      const used = await token();
      await join({ token: used, publicKey: taken });
      await world.db
        .sql`update enrollment_tokens set used_at = now() - interval '16 minutes' where used_at is not null`;
      for (const bad of ['enr_nothing', used])
        for (const publicKey of [identity, taken, generateSigningKey().publicKey])
          await expect(join({ token: bad, publicKey })).rejects.toMatchObject({ code: 'token_invalid' });
    });

    it('refuses a name that is taken and keeps the token good; a revoked runner’s name is free', async () => {
      const first = await enrolled('twin');
      const good = await token();
      await expect(join({ token: good, name: 'twin' })).rejects.toMatchObject({
        code: 'name_taken',
        status: 409,
      });
      await call(method.revoke, { teamId: team, runnerId: first });
      expect((await join({ token: good, name: 'twin' })).teamId).toBe(team);
    });

    it('refuses a key that another runner has', async () => {
      const publicKey = generateSigningKey().publicKey;
      await join({ token: await token(), name: 'one', publicKey });
      await expect(join({ token: await token(), name: 'two', publicKey })).rejects.toMatchObject({
        code: 'key_in_use',
      });
    });

    it('stops at the limit of runners, for tokens and for runners', async () => {
      const spare = await token();
      for (let i = 0; i < MAX; i += 1) await enrolled(`box-${i}`);
      await expect(token()).rejects.toMatchObject({ code: 'limit_reached' });
      await expect(join({ token: spare, name: 'one-more' })).rejects.toMatchObject({ code: 'limit_reached' });
    });

    it('stops at the limit of the plan where that is lower', async () => {
      const limit = async (max: number) =>
        await world.db.sql`
          insert into team_limits (team_id, runners_max) values (${team}, ${max}) on conflict (team_id) do update set runners_max = excluded.runners_max`;
      const refusal = { code: 'limit_reached', details: { resource: 'runner', limit: 2 } };
      await limit(2);
      const spare = await token();
      await enrolled('box-1');
      await enrolled('box-2');
      await expect(token()).rejects.toMatchObject(refusal);
      await expect(join({ token: spare, name: 'one-more' })).rejects.toMatchObject(refusal);
      await limit(MAX + 100);
      await join({ token: spare, name: 'one-more' });
      await enrolled('box-4');
      await enrolled('box-5');
      await expect(token()).rejects.toMatchObject({ details: { limit: MAX } });
    });

    it('refuses a token whose issuer left the team, or may not issue one any more', async () => {
      for (const change of [`update team_members set role = 'developer'`, `delete from team_members`]) {
        const issued = await token();
        await world.db.sql.unsafe(`${change} where team_id = '${team}'`);
        await expect(join({ token: issued })).rejects.toMatchObject({ code: 'token_invalid' });
        await world.db.sql`update team_members set role = 'admin' where team_id = ${team}`;
      }
    });

    it('refuses a token that was issued with an API key which has ended', async () => {
      const expiresAt = new Date(systemClock.now().getTime() + 60_000);
      const key = {
        userId: world.userId,
        name: 'issues',
        scopes: ['runner:manage'],
        teamId: undefined,
        parentId: undefined,
        expiresAt,
      };
      const row = await insertApiKey(world.db, { clock: systemClock, secrets }, key);
      const caller = { kind: 'api_key', credentialId: row.id } as const;
      const issued = [await token(caller), await token(caller)];
      await join({ token: issued[0]!, name: 'in time' });
      await world.db.sql`update api_keys set revoked_at = now() where id = ${row.id}`;
      await expect(join({ token: issued[1]!, name: 'too late' })).rejects.toMatchObject({
        code: 'token_invalid',
      });
    });

    it('stores no token, only its hash', async () => {
      const secret = await token();
      const rows = await world.db.sql`select t::text as text from enrollment_tokens t`;
      expect(rows.map((row) => row['text']).join('\n')).not.toContain(secret.slice(4));
    });
  });

  it('another team’s runner is not there for any call', async () => {
    const mine = await enrolled();
    const stranger = { ...as(), teamIds: [await world.team()] };
    const which = { teamId: stranger.teamIds[0]!, runnerId: mine };
    const calls = [
      call(method.get, which, stranger),
      call(method.revoke, which, stranger),
      call(method.pause, which, stranger),
      call(method.resume, which, stranger),
      call(method.clearDivergenceFlag, which, stranger),
      call(method.requestDiagnostics, which, stranger),
    ];
    for (const outcome of await Promise.allSettled(calls))
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'not_found' } });
    expect(await get(mine)).toMatchObject({
      health: Health.NEVER_SEEN,
    });
  });

  it('a pause is told with its note and end, tells the gateways, and ends on request', async () => {
    const runnerId = await enrolled();
    const paused = await call(method.pause, { teamId: team, runnerId, note: 'new disk', minutes: 10 });
    expect(paused).toMatchObject({ health: Health.PAUSED, pauseNote: 'new disk' });
    expect(timestampDate(paused.pausedUntil!).getTime() - timestampDate(paused.pausedAt!).getTime()).toBe(
      600_000,
    );
    const resumed = await call(method.resume, { teamId: team, runnerId });
    expect([resumed.pausedAt, resumed.pausedUntil, resumed.pauseNote]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    await call(method.resume, { teamId: team, runnerId });
    expect(await kinds()).toEqual(['runner.enrolled', 'runner.paused', 'runner.resumed']);
    expect(events[0]).toEqual({ type: 'runner_changed', runnerId });
  });

  it('a flag is cleared with its strikes', async () => {
    const runnerId = await enrolled();
    await world.db.sql`update runners set strikes = 3 where id = ${runnerId}`;
    expect(await get(runnerId)).toMatchObject({
      health: Health.FLAGGED,
      flagged: true,
      strikes: 3,
    });
    expect(await call(method.clearDivergenceFlag, { teamId: team, runnerId })).toMatchObject({
      flagged: false,
      strikes: 0,
    });
    expect(await kinds()).toEqual(['runner.enrolled', 'runner.divergence_cleared']);
  });

  it('a revoked runner leaves the roster, is told of once, and its key with it', async () => {
    const runnerId = await enrolled();
    await call(method.revoke, { teamId: team, runnerId });
    await call(method.revoke, { teamId: team, runnerId });
    expect(events).toEqual([{ type: 'runner_revoked', runnerId, keyId: expect.any(String) as string }]);
    expect(await list()).toEqual([]);
    expect(await list({ includeRevoked: true })).toMatchObject([{ health: Health.REVOKED }]);
  });

  describe('a diagnosis', () => {
    it('counts leases and work, lists events, and says what is set', async () => {
      const runnerId = await enrolled();
      for (let n = 0; n < 3; n += 1) await world.submit(team);
      await world.poll(runnerId);
      await world.expire((await world.poll(runnerId))?.workId ?? '');
      const answer = await call(method.diagnose, { teamId: team });
      expect(answer).toMatchObject({
        liveLeases: 1,
        expiredLeases: 1,
        queued: 1,
        configured: { RUNNERS_ENABLED: true, AMQP_URL: false },
      });
      expect(answer.liveAnswered).toBeUndefined();
      expect(answer.events.map((event) => event.kind)).toEqual(['runner.enrolled']);
    });

    it('holds neither keys nor tokens', async () => {
      const key = generateSigningKey();
      const secret = await token();
      await join({ token: secret, publicKey: key.publicKey });
      const text = toJsonString(DiagnoseResponseSchema, await call(method.diagnose, { teamId: team }));
      for (const hidden of [key.publicKey, key.keyid, secret]) expect(text).not.toContain(hidden);
    });

    it('asks when it is live, and is answered by the next heartbeat that carries self-diagnostics', async () => {
      const runnerId = await enrolled();
      const beat = async (diagnostics?: {
        containerCliVersion: string;
        deployCliVersion: string;
        workspaceFreeMb: number;
      }) =>
        await createHeartbeat(
          world.db.sql,
          world.settings,
        )({
          runnerId,
          bootId: '',
          leases: [],
          draining: false,
          ...(diagnostics && { diagnostics }),
        });
      const asking = call(method.diagnose, { teamId: team, live: true });
      let wanted = false;
      for (let i = 0; i < 200 && !wanted; i += 1) wanted = (await beat())?.diagnostics_wanted ?? false;
      expect(wanted).toBe(true);
      await beat({ containerCliVersion: 'podman 4.3.1', deployCliVersion: '', workspaceFreeMb: 812 });
      const answer = await asking;
      expect(answer).toMatchObject({
        liveAnswered: true,
        runners: [{ diagnostics: { containerCliVersion: 'podman 4.3.1', workspaceFreeMb: 812 } }],
      });
      expect((await beat())?.diagnostics_wanted).toBe(false);
    });

    it('goes on without an answer when its time is up, and at once without runners', TIMED, async () => {
      const startedMs = performance.now();
      expect(await call(method.diagnose, { teamId: team, live: true })).toMatchObject({
        liveAnswered: false,
      });
      expect(performance.now() - startedMs).toBeLessThan(1_000);
      await enrolled();
      expect(await call(method.diagnose, { teamId: team, live: true })).toMatchObject({
        liveAnswered: false,
      });
      expect(performance.now() - startedMs).toBeGreaterThan(1_500);
    });
  });
});
