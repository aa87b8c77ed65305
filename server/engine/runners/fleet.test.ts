/**
 * These tests have a team's runners together, against a real PostgreSQL: degraded or not, why work waits,
 * what a runner did, and which versions are served.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { RunnersService, WaitingReason } from '@svc/proto/gen/svc/runners/v1/runners_pb.ts';
import { createLocalQueue } from '@svc/proto/queue/local.ts';
import { has } from '../../../test/setup/needs.ts';
import { createHeartbeat } from '../work/heartbeat.ts';
import { sweep } from '../work/sweeper.ts';
import { createFakeClock } from '../../../test/setup/clock.ts';
import { setColumns } from '../../../test/setup/columns.ts';
import { unaryOf } from '../../../test/setup/engine/unary.ts';
import { createWorld, randomKey, type World } from '../../../test/setup/work/world.ts';
import { endPauses, enterDegraded, leaveDegraded, noteOutdated } from './degraded.ts';
import { createRunners, whyWaiting } from './index.ts';
import { startWatch } from './watch.ts';

const there = await has('postgres');
const { method } = RunnersService;

describe.skipIf(!there)('a fleet', () => {
  let world: World;
  let team: string;
  let service: ReturnType<typeof createRunners>;
  beforeAll(async () => {
    world = await createWorld({ minVersion: '1.2.0', recommendedVersion: '1.4.0' });
    service = createRunners({
      queue: createLocalQueue(),
      settings: world.settings,
      runnersPerTeamMax: 10,
      configured: {},
      wakeRelay: () => undefined,
      onError: (error) => {
        throw error;
      },
    });
  });
  afterAll(async () => await world.drop());
  beforeEach(async () => {
    await world.db.sql`truncate work_items, runner_team_health, runner_events, outbox cascade`;
    team = await world.team();
  });

  const as = () => ({ db: world.db, userId: world.userId, teamIds: [team] });
  const call = unaryOf(() => service, as);
  const health = async () => await call(method.getHealth, { teamId: team });
  const enter = async () => await enterDegraded(world.db.sql, world.settings);
  const leave = async () => await leaveDegraded(world.db.sql, world.settings);
  const set = async (id: string, columns: Record<string, unknown>) =>
    await setColumns(world.db.sql, 'runners', { id, ...columns });
  const ago = (seconds: number): Date => new Date(Date.now() - seconds * 1_000);
  /** Makes a runner in contact. */
  const live = async (columns: Record<string, unknown> = {}): Promise<string> => {
    const id = await world.runner(team);
    await set(id, { last_seen_at: new Date(), ...columns });
    return id;
  };
  /** It stands for a call of the runner, a moment after the one before. */
  const contact = async (id: string) =>
    await world.db.sql`update runners set last_seen_at = clock_timestamp() where id = ${id}`;
  /** An item that has waited so long. */
  const waitingFor = async (seconds: number): Promise<string> => {
    const id = await world.submit(team);
    await world.db.sql`update work_items set run_after = ${ago(seconds)} where id = ${id}`;
    return id;
  };
  const told = async (): Promise<string[]> =>
    (await world.db.sql<Array<{ kind: string }>>`select kind from outbox order by created_at, id`).map(
      ({ kind }) => kind,
    );
  const noted = async (): Promise<unknown[]> => {
    const { sql } = world.db;
    const rows = await sql`select kind from runner_events where team_id = ${team} order by seq`;
    return rows.map(({ kind }) => kind);
  };

  describe('is degraded', () => {
    it('once when work has waited and no runner takes it, however many workers look', async () => {
      await waitingFor(61);
      const entered = await Promise.all(Array.from({ length: 10 }, enter));
      expect(entered.flat()).toEqual([team]);
      expect(await told()).toEqual(['runner.degraded']);
      expect(await noted()).toEqual(['runner.degraded']);
      expect(await health()).toMatchObject({
        degraded: true,
        reason: { reason: WaitingReason.NO_LIVE_RUNNER },
        stuckWork: {
          runs: 1,
          builds: 0,
          items: [{ kind: 'run', waiting: { reason: WaitingReason.NO_LIVE_RUNNER } }],
        },
      });
    });

    it('not before work has waited for 60 seconds, and not without work', async () => {
      expect(await enter()).toEqual([]);
      await waitingFor(58);
      expect(await enter()).toEqual([]);
      expect(await health()).toMatchObject({ degraded: false, stuckWork: { runs: 1 } });
    });

    it('not while one runner is able, whatever the others are', async () => {
      await waitingFor(61);
      await live({ not_ready: ['disk: 812 MB free, 1024 MB needed'] });
      await live();
      expect(await enter()).toEqual([]);
    });

    it('not because it paused its runners, as long as one of them is in contact', async () => {
      await waitingFor(61);
      const runner = await live({ paused_at: new Date() });
      expect(await enter()).toEqual([]);
      await set(runner, { last_seen_at: ago(120) });
      expect(await enter()).toEqual([team]);
    });

    it('never because of work that goes to the service', async () => {
      const other = await world.team('service');
      const id = await world.submit(other);
      await world.db.sql`update work_items set run_after = ${ago(600)} where id = ${id}`;
      expect(await enter()).toEqual([]);
    });

    it.each([
      ['silence', { last_seen_at: ago(61) }, 'no_live_runner'],
      ['a full disk', { not_ready: ['disk: 812 MB free'] }, 'not_ready'],
      ['strikes', { strikes: 3 }, 'flagged'],
      ['draining', { draining: true }, 'all_paused'],
      ['an old version', { version: '1.1.9' }, 'version_too_old'],
    ])('because of %s, and says so', async (_name, columns, reason) => {
      await waitingFor(61);
      await live(columns);
      expect(await enter()).toEqual([team]);
      const [row] = await world.db.sql`select reason from runner_team_health where team_id = ${team}`;
      expect(row).toEqual({ reason });
    });

    it('until one runner is able again in two calls, and not for one that calls once', async () => {
      await waitingFor(61);
      const flapping = await live({ last_seen_at: ago(120) });
      await enter();
      const reason = async () => (await health()).reason?.detail;
      expect(await reason()).toContain('none of the 1 enrolled runners has called within 60 s');
      await contact(flapping);
      expect([await leave(), await leave(), await leave()]).toEqual([[], [], []]);
      // The state lasts until the next call; what it says of the runner is true now.
      expect(await reason()).toContain('a runner takes work again');
      await set(flapping, { not_ready: ['disk: 812 MB free'] });
      expect(await reason()).toMatch(/cannot take work: \S+: disk: 812 MB free/);
      await set(flapping, { not_ready: [] });
      await set(flapping, { last_seen_at: ago(120) });
      await leave();
      await contact(flapping);
      // Its first call since it was gone again.
      expect([await leave(), await leave()]).toEqual([[], []]);
      await contact(flapping);
      const left = await Promise.all(Array.from({ length: 10 }, leave));
      expect(left.flat()).toEqual([team]);
      expect(await told()).toEqual(['runner.degraded', 'runner.recovered']);
      expect(await health()).toMatchObject({ degraded: false });
    });

    it('not while runners are switched off, nor before they had the time to come back', async () => {
      await waitingFor(61);
      await live({ last_seen_at: ago(120) });
      const clock = createFakeClock(new Date());
      let [on, asked] = [false, 0];
      const runnersOn = (): boolean => {
        asked += 1;
        return on;
      };
      const watch = startWatch({
        sql: world.db.sql,
        clock,
        settings: { ...world.settings, watchEveryMs: 10, runnersOn },
        onError: (error) => {
          throw error;
        },
      });
      const looks = async (): Promise<void> => {
        const before = asked;
        // One look may have begun before it.
        await expect.poll(() => asked).toBeGreaterThan(before + 1);
        expect((await health()).degraded).toBe(false);
      };
      await looks();
      clock.advance(600_000);
      await looks();
      on = true;
      clock.advance(59_000);
      await looks();
      clock.advance(2_000);
      await expect.poll(async () => (await health()).degraded).toBe(true);
      await watch.stop();
    });

    it('again within ten minutes without telling everybody again', async () => {
      const runner = await live({ last_seen_at: ago(120) });
      await waitingFor(61);
      for (let round = 0; round < 3; round += 1) {
        expect(await enter()).toEqual([team]);
        await contact(runner);
        await leave();
        await contact(runner);
        expect(await leave()).toEqual([team]);
        await set(runner, { last_seen_at: ago(120) });
      }
      expect(await told()).toEqual(['runner.degraded', 'runner.recovered']);
      expect((await noted()).filter((kind) => kind === 'runner.degraded')).toHaveLength(3);
    });

    it('no more when its work goes elsewhere, or when neither runners nor work are left', async () => {
      await waitingFor(61);
      await enter();
      await world.db.sql`update teams set region_id = 'reg_service' where id = ${team}`;
      expect(await leave()).toEqual([team]);
      await world.db.sql`update teams set region_id = 'reg_customer' where id = ${team}`;
      await enter();
      expect(await leave()).toEqual([]);
      await world.db.sql`delete from work_items`;
      expect(await leave()).toEqual([team]);
    });
  });

  describe('says why work waits:', () => {
    const why = async (id: string) => (await whyWaiting(world.db.sql, world.settings, [{ id }])).get(id);

    it.each<[string, ReadonlyArray<Record<string, unknown>>, WaitingReason, RegExp]>([
      ['nobody is enrolled', [], WaitingReason.NO_LIVE_RUNNER, /no runner is enrolled.*svc runners enroll/],
      [
        'all are silent',
        [{ last_seen_at: ago(61) }, { last_seen_at: null }],
        WaitingReason.NO_LIVE_RUNNER,
        /none of the 2 .* within 60 s/,
      ],
      [
        'none was started yet',
        [{ last_seen_at: null }, { last_seen_at: null }],
        WaitingReason.NO_LIVE_RUNNER,
        /the 2 enrolled runners have not called for work yet/,
      ],
      [
        'all are paused',
        [{ paused_at: ago(9) }, { last_seen_at: null }],
        WaitingReason.ALL_PAUSED,
        /svc runners resume/,
      ],
      [
        'the disk is full',
        [{ name: 'box', not_ready: ['disk: 812 MB free'] }],
        WaitingReason.NOT_READY,
        /box: disk: 812 MB free/,
      ],
      ['the runner has strikes', [{ strikes: 3 }], WaitingReason.FLAGGED, /clear-divergence-flag/],
      ['the runner is too old', [{ version: '1.1.0' }], WaitingReason.VERSION_TOO_OLD, /older than 1\.2\.0/],
      [
        'a runner is free',
        [{ version: '1.2.0' }, { paused_at: ago(9) }],
        WaitingReason.DISPATCHING,
        /a runner is free/,
      ],
    ])('%s', async (_name, runners, reason, detail) => {
      for (const columns of runners) await live(columns);
      const id = await world.submit(team);
      expect(await why(id)).toEqual({ reason, detail: expect.stringMatching(detail) as string });
    });

    it('runners are switched off, whoever is free, and nobody is blamed for it', async () => {
      await live();
      const off = { ...world.settings, runnersOn: () => false };
      for (const id of [await world.submit(team), await world.submit(await world.team('service'))])
        expect((await whyWaiting(world.db.sql, off, [{ id }])).get(id)).toEqual({
          reason: WaitingReason.RUNNERS_OFF,
          detail: expect.stringContaining('switched off all runners') as string,
        });
    });

    it('every runner is at work', async () => {
      const busy = await live();
      await world.submit(team);
      await world.poll(busy);
      expect(await why(await world.submit(team))).toMatchObject({
        reason: WaitingReason.ALL_BUSY,
        detail: expect.stringContaining('the one runner that could take it') as string,
      });
    });

    it('it asks for a container and there is none', async () => {
      await live({ isolation: 'namespaces' });
      const id = await world.submit(team, { needsContainer: true });
      expect(await why(id)).toMatchObject({ reason: WaitingReason.ISOLATION_REQUIRED });
      expect(await why(await world.submit(team))).toMatchObject({ reason: WaitingReason.DISPATCHING });
    });

    it('it lost its runner a moment ago', async () => {
      const runner = await live();
      const id = await world.submit(team);
      for (let loss = 0; loss < 3; loss += 1) {
        await world.db.sql`update work_items set run_after = now() where id = ${id}`;
        await world.poll(runner);
        await world.expire(id);
        await sweep(world.db.sql, world.settings);
      }
      expect(await why(id)).toMatchObject({ reason: WaitingReason.RETRY_DELAY });
    });

    it('no runner has what it asks for, and names the group or the label', async () => {
      await live({ labels: { os: 'linux', zone: 'a' } });
      await live({ labels: { os: 'bsd', zone: 'b' }, last_seen_at: null });
      const asking = async (selector: object) =>
        await why(await world.submit(team, { placement: { selector } }));
      const reason = WaitingReason.NO_MATCHING_RUNNER;
      const saying = (text: string) => ({ reason, detail: expect.stringContaining(text) as string });
      expect(await asking({ group: 'gpu' })).toEqual(saying('there is no runner group gpu'));
      expect(await asking({ labels: { os: 'linux', gpu: 'a100' } })).toEqual(
        saying('no runner has the label gpu=a100'),
      );
      expect(await asking({ labels: { os: 'linux', zone: 'b' } })).toEqual(
        saying('no runner has the labels os=linux, zone=b together'),
      );
      expect(await asking({ labels: { os: 'linux' } })).toMatchObject({ reason: WaitingReason.DISPATCHING });
      // Such a runner is there and silent: that it is, is the matter.
      expect(await asking({ labels: { os: 'bsd' } })).toMatchObject({ reason: WaitingReason.NO_LIVE_RUNNER });
    });

    it('a limit is reached, of the group or of the team, and names it', async () => {
      const { sql } = world.db;
      const groupId = 'grp_00000000000000000000000001';
      await sql`
        insert into runner_groups (id, team_id, name, labels, max_running, created_at) values (${groupId}, ${team}, 'small', '{}', 1, now())`;
      const [one] = [await live({ group_id: groupId }), await live({ group_id: groupId })];
      await world.submit(team);
      await world.poll(one);
      const own = await why(await world.submit(team));
      expect(own).toMatchObject({ reason: WaitingReason.TEAM_AT_LIMIT });
      expect(own?.detail).toContain('runner group small');
      const other = await world.team('service');
      await sql`insert into team_shares (team_id, kind, weight, max_running) values (${other}, 'run', 1, 1)`;
      const pooled = await world.runner(world.poolTeamId);
      await set(pooled, { last_seen_at: new Date() });
      await world.submit(other);
      const second = await world.submit(other);
      await world.poll(pooled);
      expect(await why(second)).toMatchObject({
        reason: WaitingReason.TEAM_AT_LIMIT,
        detail: expect.stringContaining('hold 1 runs of the team, which is its limit') as string,
      });
      await set(pooled, { revoked_at: new Date() });
    });

    it('others have their turns before it, and how many', async () => {
      const pooled = await world.runner(world.poolTeamId);
      await set(pooled, { last_seen_at: new Date() });
      const [mine, ...others] = [
        await world.team('service'),
        await world.team('service'),
        await world.team('service'),
      ];
      for (const other of others) for (let n = 0; n < 5; n += 1) await world.submit(other);
      for (let n = 0; n < 2; n += 1) await world.submit(mine!);
      const third = await world.submit(mine!);
      await world.poll(pooled);
      const waiting = await why(third);
      expect(waiting?.reason).toBe(WaitingReason.TURN_OF_OTHERS);
      const before = Number(/about (\d+) of other teams/.exec(waiting?.detail ?? '')?.[1]);
      expect(before).toBeGreaterThanOrEqual(2);
      expect(before).toBeLessThanOrEqual(4);
      await set(pooled, { revoked_at: new Date() });
    });

    it('the service’s pool is off, or busy, without naming its machines', async () => {
      const other = await world.team('service');
      const id = await world.submit(other);
      const off = { ...world.settings, feedServicePool: false };
      expect((await whyWaiting(world.db.sql, off, [{ id }])).get(id)).toMatchObject({
        reason: WaitingReason.POOL_OFF,
      });
      const pooled = await world.runner(world.poolTeamId, { name: 'internal-host-7' });
      await set(pooled, { last_seen_at: new Date(), not_ready: ['disk'] });
      const waiting = await why(id);
      expect(waiting).toMatchObject({ reason: WaitingReason.NO_LIVE_RUNNER });
      expect(waiting?.detail).not.toContain('internal-host-7');
    });

    it('nothing of what does not wait, and all of many at once', async () => {
      const runner = await live();
      const ids = [await world.submit(team), await world.submit(team), await world.submit(team)];
      await world.poll(runner);
      const waiting = await whyWaiting(world.db.sql, world.settings, [
        ...ids.map((id) => ({ id })),
        { id: 'run_unknown' },
      ]);
      expect([...waiting.keys()].toSorted()).toEqual(ids.slice(1).toSorted());
      const blocked = await whyWaiting(world.db.sql, world.settings, [
        { id: ids[1]!, environmentBusy: true },
      ]);
      expect(blocked.get(ids[1]!)).toMatchObject({ reason: WaitingReason.ENVIRONMENT_BUSY });
    });
  });

  it('remembers what a runner did, newest first and page by page', async () => {
    const runner = await live();
    for (let i = 0; i < 3; i += 1) {
      const id = await world.submit(team);
      const grant = await world.poll(runner);
      await world.beat(runner, { id, epoch: grant!.epoch });
      await world.report(runner, {
        id,
        epoch: grant!.epoch,
        durationMs: 1_000 + i,
        exitCode: i === 1 ? 1 : 0,
      });
    }
    const lost = await world.submit(team);
    await world.poll(runner);
    await world.expire(lost);
    await sweep(world.db.sql, world.settings);
    const page = async (cursor?: string) =>
      await call(method.listHistory, {
        teamId: team,
        runnerId: runner,
        limit: 3,
        ...(cursor === undefined ? {} : { cursor }),
      });
    const first = await page();
    expect(first.leases).toMatchObject([
      { workId: lost, outcome: 'expired', epoch: 1 },
      { outcome: 'succeeded', selfReportedMs: 1_002 },
      { outcome: 'failed', selfReportedMs: 1_001 },
    ]);
    expect(first.leases[0]!.meteredMs).toBeUndefined();
    expect(first.leases[1]!.meteredMs).toBeGreaterThanOrEqual(0);
    const second = await page(first.nextCursor);
    expect(second.leases).toMatchObject([{ outcome: 'succeeded', selfReportedMs: 1_000 }]);
    expect(second.nextCursor).toBeUndefined();
    const others = { ...as(), teamIds: [await world.team()] };
    const which = { teamId: others.teamIds[0]!, runnerId: runner };
    await expect(call(method.listHistory, which, others)).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  it('gives a version below the least no new work, lets it finish, and notes it once', async () => {
    const runner = await live({ version: '1.2.0-rc.1' });
    const id = await world.submit(team);
    const grant = await world.poll(runner);
    await set(runner, { version: '1.1.9' });
    await world.submit(team);
    expect(await world.poll(runner, randomKey('poll'))).toBeUndefined();
    const beat = await createHeartbeat(
      world.db.sql,
      world.settings,
    )({
      runnerId: runner,
      bootId: '',
      leases: [{ id, epoch: grant!.epoch }],
      draining: false,
    });
    expect(beat).toMatchObject({ outdated: true, upgradable: true, leases: [{ status: 'ok' }] });
    expect(await world.report(runner, { id, epoch: grant!.epoch })).toMatchObject({ repeated: false });
    await Promise.all(
      Array.from({ length: 5 }, async () => await noteOutdated(world.db.sql, world.settings)),
    );
    expect(await noted()).toEqual(['runner.version_too_old']);
    await set(runner, { version: '1.3.0' });
    expect(await world.poll(runner, randomKey('poll'))).toBeDefined();
    expect(await noteOutdated(world.db.sql, world.settings)).toBe(0);
  });

  it('writes down a pause that ended by itself', async () => {
    const runner = await live({ paused_at: ago(600), paused_until: ago(1), pause_note: 'new disk' });
    expect(await endPauses(world.db.sql)).toBe(1);
    expect(await endPauses(world.db.sql)).toBe(0);
    expect(await noted()).toEqual(['runner.resumed']);
    const shown = await call(method.get, { teamId: team, runnerId: runner });
    expect([shown.pausedAt, shown.pauseNote]).toEqual([undefined, undefined]);
  });
});
