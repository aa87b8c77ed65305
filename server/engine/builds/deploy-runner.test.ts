/**
 * The runner that deploys is the one on whose machine the environment was deployed last, as long as it is
 * enrolled.
 */
import { BuildsService, DeployDecision } from '@svc/proto/gen/svc/builds/v1/builds_pb.ts';
import { WaitingReason } from '@svc/proto/gen/svc/runners/v1/runners_pb.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { whyWaiting } from '../runners/index.ts';
import { rerouteTeam } from '../work/pool.ts';
import { takeDueHints } from '../work/relay.ts';
import { revokeRunner } from '../work/revoke.ts';
import { sweep } from '../work/sweeper.ts';
import { setColumns } from '../../../test/setup/columns.ts';
import { randomKey } from '../../../test/setup/work/world.ts';
import { createBuildWorld, OUTCOME, type BuildWorld } from '../../../test/setup/builds/build-world.ts';

const { method } = BuildsService;
const DEPLOYING = 4;
const deploy = { kind: 'container', app: 'web', containerPort: 8080, hostPort: 0 };

describe.skipIf(!(await has('postgres')))('the runner that deploys an environment', () => {
  let world: BuildWorld;
  let a: string;
  let b: string;
  let environmentId: string;
  beforeAll(async () => {
    world = await createBuildWorld({ graceMs: 1 });
  });
  afterAll(async () => await world?.drop());
  beforeEach(async () => {
    await world.db.sql`delete from builds`;
    [a, b] = [await world.runner(world.teamId), await world.runner(world.teamId)];
    environmentId = await world.environment({ deploy });
  });

  const take = async (runner: string): Promise<{ readonly workId: string; readonly epoch: number }> => {
    const grant = await world.pollBuild(runner);
    if (grant === undefined) throw new Error('no build was granted');
    return grant;
  };
  const build = async (
    runner: string,
    how: { readonly exitCode?: number; readonly address?: string; readonly phase?: number } = {},
  ): Promise<string> => {
    const { exitCode = 0, address, phase = DEPLOYING } = how;
    const id = await world.submitBuild(environmentId);
    const { workId, epoch } = await take(runner);
    await world.beatBuild(runner, { id: workId, epoch, phase });
    await world.reportBuild(runner, { id: workId, epoch, exitCode, build: { ...OUTCOME, address } });
    return id;
  };
  const lose = async (runner: string, phase: number): Promise<void> => {
    const { workId, epoch } = await take(runner);
    await world.beatBuild(runner, { id: workId, epoch, phase });
    await world.expire(workId);
    await sweep(world.db.sql, world.settings);
  };
  const revoke = async (runnerId: string): Promise<void> =>
    void (await revokeRunner(world.db.sql, world.settings, { teamId: world.teamId, runnerId }));
  /** Who is granted the next build, asked for in this order. */
  const taker = async (...runners: readonly string[]): Promise<string | undefined> => {
    for (const runner of runners) if ((await world.pollBuild(runner)) !== undefined) return runner;
    return undefined;
  };

  it('is any one at first, and that one for the builds after it, whoever asks first', async () => {
    await build(b);
    const next = await world.submitBuild(environmentId);
    expect(await world.pollBuild(a)).toBeUndefined();
    expect((await take(b)).workId).toBe(next);
  });

  it('is that one for a build that waited already when the first deploy ended', async () => {
    const first = await world.submitBuild(environmentId);
    await world.submitBuild(environmentId);
    const { epoch } = await take(b);
    await world.reportBuild(b, { id: first, epoch, build: { ...OUTCOME, phase: DEPLOYING } });
    expect(await taker(a, b)).toBe(b);
  });

  it('executes rollbacks', async () => {
    const buildId = await build(b);
    await world.call(method.rollback, { environmentId, buildId });
    expect(await taker(a, b)).toBe(b);
  });

  it('executes approved deploys, while any runner may make the image', async () => {
    environmentId = await world.environment({ deploy, deployApproval: true });
    const approved = async (builder: string): Promise<void> => {
      const buildId = await build(builder, { phase: 3 });
      await world.call(method.deployApproval, { environmentId, buildId, decision: DeployDecision.APPROVE });
    };
    await approved(a);
    const { workId, epoch } = await take(b);
    await world.beatBuild(b, { id: workId, epoch, phase: DEPLOYING });
    await world.reportBuild(b, { id: workId, epoch });
    await approved(a);
    expect(await taker(a, b)).toBe(b);
  });

  it.each([
    ['a build told an address and no phase', { phase: 0, address: 'http://10.0.0.7:32768' }, true],
    ['a build deployed and knows no address', { phase: DEPLOYING }, true],
    // What served before serves again, says its runner: nothing, or what another one runs.
    ['a deploy failed by its own word', { phase: DEPLOYING, exitCode: 1 }, false],
    ['a build ended before it deployed', { phase: 3, exitCode: 1 }, false],
  ])('when %s', async (_name, how, isBound) => {
    await build(b, how);
    await world.submitBuild(environmentId);
    expect(await taker(a, b)).toBe(isBound ? b : a);
  });

  it.each([
    ['while it deployed, for the image may be up there', DEPLOYING, true],
    ['before', 3, false],
  ])('was lost %s', async (_name, phase, isBound) => {
    await world.submitBuild(environmentId);
    await lose(b, phase);
    await world.submitBuild(environmentId);
    expect(await taker(a, b)).toBe(isBound ? b : a);
  });

  it('stays the one whose deploy came up when a later one failed', async () => {
    await build(b);
    await build(b, { exitCode: 1 });
    await world.submitBuild(environmentId);
    expect(await taker(a, b)).toBe(b);
  });

  it('is any other one once it is revoked, and what waited is hinted at once', async () => {
    await build(b);
    const next = await world.submitBuild(environmentId);
    await world.db.sql`update work_items set hint_due_at = now() + interval '10 minutes' where id = ${next}`;
    await revoke(b);
    expect((await takeDueHints(world.db.sql, world.settings)).map(({ workId }) => workId)).toEqual([next]);
    expect(await taker(a)).toBe(a);
  });

  it('is that one and no other while data lies on its machine, also when it is revoked, until the data is given up', async () => {
    await build(b);
    await world.db.sql`update host_apps set holds_data = true where environment_id = ${environmentId}`;
    const id = await world.submitBuild(environmentId);
    await revoke(b);
    expect(await taker(a, b)).toBeUndefined();
    const waiting = (
      await whyWaiting(world.db.sql, { ...world.settings, runnersOn: () => true }, [{ id }])
    ).get(id);
    expect(waiting?.reason).toBe(WaitingReason.DATA_ELSEWHERE);
    expect(waiting?.detail).toMatch(
      /^data of its environment lies on the machine of runner box\S+, which is revoked/,
    );
    await world.db.sql`update host_apps set holds_data = false where environment_id = ${environmentId}`;
    expect(await taker(a)).toBe(a);
  });

  it('is any other one once it is revoked while it deploys, and that other one from then on', async () => {
    await build(b);
    await world.submitBuild(environmentId);
    const { workId, epoch } = await take(b);
    await world.beatBuild(b, { id: workId, epoch, phase: DEPLOYING });
    await world.submitBuild(environmentId);
    await revoke(b);
    const again = await take(a);
    await world.beatBuild(a, { id: again.workId, epoch: again.epoch, phase: DEPLOYING });
    await world.reportBuild(a, { id: again.workId, epoch: again.epoch });
    await world.submitBuild(environmentId);
    expect(await taker(await world.runner(world.teamId), a)).toBe(a);
  });

  it('is nobody in particular for builds that do not deploy (any more), for other environments and for runs', async () => {
    await build(b);
    await world.db.sql`update environments set deploy = null where id = ${environmentId}`;
    await world.submitBuild(environmentId);
    expect(await taker(a, b)).toBe(a);
    await world.submitBuild(await world.environment({ deploy }));
    expect(await taker(a, b)).toBe(a);
    const run = await world.submit(world.teamId);
    expect((await world.poll(a))?.workId).toBe(run);
  });

  it('does not hold back the builds behind the one that waits for it', async () => {
    await build(b);
    await world.submitBuild(environmentId);
    const other = await world.submitBuild(await world.environment({ deploy }));
    expect((await take(a)).workId).toBe(other);
  });

  it('is any one of the pool that the team has moved to', async () => {
    await build(b);
    await world.submitBuild(environmentId);
    await world.db.sql`update teams set region_id = 'reg_service' where id = ${world.teamId}`;
    await rerouteTeam(world.db.sql, world.teamId);
    await world.db.sql`update teams set region_id = 'reg_customer' where id = ${world.teamId}`;
    expect(await taker(await world.runner(world.poolTeamId))).toBeDefined();
  });

  describe('is told of by the build that waits for it:', () => {
    const orRevoke = /svc runners revoke, after which any other runner may take the build$/;
    const now = new Date();
    const waits = async (
      columns: Record<string, unknown>,
    ): Promise<{ reason?: unknown; detail?: string }> => {
      const all = { last_seen_at: now, name: randomKey('box') };
      await setColumns(world.db.sql, 'runners', { id: a, ...all });
      await build(b);
      await setColumns(world.db.sql, 'runners', { id: b, ...all, name: 'box-b', ...columns });
      const id = await world.submitBuild(environmentId);
      return (await whyWaiting(world.db.sql, world.settings, [{ id }])).get(id) ?? {};
    };

    beforeEach(async () => await world.db.sql`delete from runners where name = 'box-b'`);

    it.each<[string, Record<string, unknown>, WaitingReason, RegExp]>([
      ['it is silent', { last_seen_at: null }, WaitingReason.NO_LIVE_RUNNER, /not called .* start it again/],
      [
        'its disk is full',
        { not_ready: ['disk: 812 MB free'] },
        WaitingReason.NOT_READY,
        /disk: 812 MB free/,
      ],
      ['it is paused', { paused_at: now }, WaitingReason.ALL_PAUSED, /svc runners resume/],
      ['it has strikes', { strikes: 3 }, WaitingReason.FLAGGED, /clear-divergence-flag/],
      ['it lost its engine', { isolation: 'namespaces' }, WaitingReason.ISOLATION_REQUIRED, /install podman/],
    ])('%s', async (_name, columns, reason, help) => {
      const waiting = await waits(columns);
      expect(waiting.reason).toBe(reason);
      expect(waiting.detail).toMatch(/^it waits for runner box-b, on which its environment is deployed: /);
      expect(waiting.detail).toMatch(help);
      expect(waiting.detail).toMatch(orRevoke);
    });

    it('it is at work, though another one is free', async () => {
      const { detail, reason } = await waits({});
      expect({ reason, detail }).toMatchObject({ reason: WaitingReason.DISPATCHING });
      await world.submit(world.teamId);
      await world.poll(b);
      const [row] = await world.db.sql`select id from work_items where kind = 'build' and state = 'queued'`;
      const id = String(row?.['id']);
      const waiting = (await whyWaiting(world.db.sql, world.settings, [{ id }])).get(id);
      expect(waiting).toMatchObject({
        reason: WaitingReason.ALL_BUSY,
        detail:
          'it waits for runner box-b, on which its environment is deployed and which is at work; it starts when that one is free',
      });
    });

    it('nothing once it is revoked', async () => {
      const { detail } = await waits({ revoked_at: now });
      expect(detail).toBe('a runner is free and is being offered it; nothing has to be done');
    });
  });
});
