/** The dispatch service as a gateway in the same process calls it: one runner's life, message by message. */
import { randomBytes } from 'node:crypto';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { WorkKind } from '@svc/proto/gen/svc/dispatch/v1/dispatch_pb.ts';
import { LeaseState, EndReason, LogStream } from '@svc/proto/gen/svc/runner/v1/runner_pb.ts';
import type { Dispatch } from '@svc/proto/dispatch/dispatch.ts';
import { createLocalQueue } from '@svc/proto/queue/local.ts';
import type { ControlEvent } from '@svc/proto/queue/queue.ts';
import { has } from '../../../test/setup/needs.ts';
import { systemClock } from '../../base/clock.ts';
import { createSecrets } from '../../base/secrets.ts';
import { newId } from '../../base/ids.ts';
import { createDispatch } from './dispatch.ts';
import { fakeGates } from '../../../test/setup/work/gates.ts';
import { randomKey, createWorld, type World } from '../../../test/setup/work/world.ts';
import { createWake } from './wake.ts';

describe.skipIf(!(await has('postgres')))('dispatch', () => {
  let world: World;
  let dispatch: Dispatch;
  let team: string;
  let runner: string;
  const features = fakeGates();
  const events: ControlEvent[] = [];
  beforeAll(async () => {
    world = await createWorld();
    const queue = createLocalQueue();
    queue.onControl((event) => events.push(event));
    dispatch = createDispatch({
      db: world.db,
      queue,
      clock: systemClock,
      settings: world.settings,
      secrets: createSecrets(randomBytes(32)),
      wake: createWake(),
      features,
      enroll: async () => ({ runnerId: 'rnr_enrolled' }),
      hostParts: () => [],
      takeHostLogs: async () => await Promise.resolve(undefined),
      buildOffer: async ({ workId }) => await Promise.resolve({ id: workId }),
      wakeRelay: () => undefined,
      onError: (error) => {
        throw error;
      },
    });
  });
  afterAll(async () => await world.drop());
  beforeEach(async () => {
    team = await world.team();
    runner = await world.runner(team);
    events.length = 0;
  });

  const caller = (bootId = '') => ({ runnerId: runner, teamId: team, bootId });
  const beginPoll = async (more: object = {}) =>
    await dispatch.poll({
      caller: caller(),
      kind: WorkKind.RUN,
      pollId: randomKey('poll'),
      slots: 1,
      ...more,
    });
  const beat = async (more: object = {}, bootId = '') =>
    await dispatch.heartbeat({
      caller: caller(bootId),
      heartbeat: { runnerId: runner, leases: [], ...more },
    });
  const submitted = async (): Promise<string> => {
    const id = newId('run');
    const limits = { timeoutSeconds: 60, memoryMb: 64, cpus: 0.5, pids: 16, outputBytes: 4_096 };
    await world.submitWork({
      work: {
        id,
        kind: 'run',
        teamId: team,
        createdBy: world.userId,
        createdAt: new Date(),
        spec: {
          purpose: 'agent_task',
          command: ['true'],
          envNames: [],
          workdir: '/workspace',
          network: 'none',
          isolation: 'any',
          limits,
        },
        labels: {},
        needsContainer: false,
        timeoutMs: 60_000,
        logLimit: 8_192,
      },
    });
    return id;
  };

  it('takes a run from poll to report', async () => {
    const id = await submitted();
    const poll = await beginPoll();
    expect(poll).toMatchObject({ mayReceive: true, hold: true, poolId: team });
    const offer = poll.offer?.work;
    expect(offer).toMatchObject({
      case: 'run',
      value: { id, epoch: 1, attempt: 1, leaseMs: 15_000, limits: { cpus: 0.5 } },
    });
    expect(
      (
        await beat({
          leases: [
            { id, epoch: 1 },
            { id: 'run_unknown', epoch: 1 },
          ],
        })
      ).leases,
    ).toMatchObject([
      { id, epoch: 1, state: LeaseState.OK, leaseMs: 60_000 },
      { id: 'run_unknown', state: LeaseState.SUPERSEDED, leaseMs: 0 },
    ]);
    const logs = {
      runnerId: runner,
      id,
      epoch: 1,
      offset: 0,
      chunks: [{ stream: LogStream.STDOUT, data: Buffer.from('hi') }],
    };
    expect(await dispatch.appendLogs({ caller: caller(), kind: WorkKind.RUN, logs })).toMatchObject({
      nextOffset: 2,
      state: LeaseState.OK,
    });
    const report = {
      runnerId: runner,
      id,
      epoch: 1,
      reportId: 'report-1',
      reason: EndReason.EXIT,
      exitCode: 0,
      durationMs: 5,
    };
    expect(await dispatch.report({ caller: caller(), kind: WorkKind.RUN, report })).toMatchObject({
      accepted: true,
      repeated: false,
    });
    expect(await dispatch.report({ caller: caller(), kind: WorkKind.RUN, report })).toMatchObject({
      accepted: true,
      repeated: true,
    });
    expect((await world.item(id))['state']).toBe('succeeded');
  });

  it('gives a poll that is held its item when it asks again', async () => {
    const pollId = randomKey('poll');
    expect((await beginPoll({ pollId })).offer).toBeUndefined();
    const id = await submitted();
    const held = await Promise.all([beginPoll({ pollId }), beginPoll({ pollId: randomKey('poll') })]);
    expect(held.map(({ offer }) => offer?.work.value?.id)).toEqual([id, undefined]);
    // The same poll id has the same offer.
    expect((await beginPoll({ pollId })).offer?.work.value).toMatchObject({ id, epoch: 1 });
  });

  it.each([
    ['no free slot', { slots: 0 }, '', { mayReceive: false, hold: false }],
    ['a reason against it', { notReady: ['disk 812 MB < 1024 MB'] }, '', { mayReceive: false, hold: true }],
    ['a pause', {}, 'paused_at = now()', { mayReceive: false, hold: true }],
    ['a flag', {}, 'strikes = 3', { mayReceive: false, hold: true }],
    ['its end near', {}, 'draining = true', { mayReceive: false, hold: false }],
  ])('gives nothing to a runner with %s', async (_name, poll, change, expected) => {
    await submitted();
    if (change !== '') await world.db.sql.unsafe(`update runners set ${change} where id = '${runner}'`);
    const answer = await beginPoll(poll);
    expect(answer).toMatchObject(expected);
    expect(answer.offer).toBeUndefined();
  });

  it('grants nothing while runners are switched off, keeps what runs, and grants again', async () => {
    const pollId = randomKey('poll');
    const [first, second] = [await submitted(), await submitted()];
    const { offer } = await beginPoll({ pollId });
    const epoch = offer?.work.value?.epoch ?? 0;
    features.runners('hidden');
    expect(await beginPoll({ pollId })).toMatchObject({ mayReceive: false, hold: false });
    expect((await beginPoll({ pollId })).offer).toBeUndefined();
    // A gateway that has not heard of it yet may still bring heartbeats of what was granted before.
    const { leases } = await beat({ leases: [{ id: first, epoch }] });
    expect(leases.map(({ state }) => state)).toEqual([LeaseState.OK]);
    expect((await dispatch.watchFeatures({ revision: '' })).hidden).toEqual(['host.runners']);
    features.runners('open');
    expect((await beginPoll()).offer?.work.value?.id).toBe(second);
  });

  it('tells a revoked runner so, and one that it never knew', async () => {
    await world.db.sql`update runners set revoked_at = now() where id = ${runner}`;
    await expect(beginPoll()).rejects.toMatchObject({ code: 'runner_revoked', status: 401 });
    await expect(beat()).rejects.toMatchObject({ code: 'runner_revoked' });
    runner = 'rnr_nobody';
    await expect(beginPoll()).rejects.toMatchObject({ code: 'key_unknown' });
  });

  describe('of two processes of one runner', () => {
    it('listens to the one that came last, and to a process that does not say which it is', async () => {
      await beat({}, 'boot-1');
      await beat({ draining: true }, 'boot-1');
      await beat({}, 'boot-2');
      await expect(beat({}, 'boot-1')).rejects.toMatchObject({ code: 'boot_superseded', status: 409 });
      await expect(beginPoll({ caller: caller('boot-1') })).rejects.toMatchObject({
        code: 'boot_superseded',
      });
      expect(await beginPoll({ caller: caller('boot-2') })).toMatchObject({ mayReceive: true });
      await beat();
      await beat({}, 'boot-2');
    });

    it('lets the new one go on with what the old one held', async () => {
      const id = await submitted();
      const poll = await beginPoll({ caller: caller('boot-1') });
      expect(poll.offer).toBeDefined();
      await beat({ leases: [{ id, epoch: 1 }] }, 'boot-1');
      expect((await beat({ leases: [{ id, epoch: 1 }] }, 'boot-2')).leases[0]?.state).toBe(LeaseState.OK);
      await expect(beat({ leases: [{ id, epoch: 1 }] }, 'boot-1')).rejects.toMatchObject({
        code: 'boot_superseded',
      });
    });

    it('accepts 20 first calls of a new process at once', async () => {
      await beat({}, 'boot-a');
      await Promise.all(Array.from({ length: 20 }, async () => await beat({}, 'boot-b')));
      await expect(beat({}, 'boot-a')).rejects.toMatchObject({ code: 'boot_superseded' });
    });
  });

  it('tells gateways when a runner begins to drain, once', async () => {
    await beat({ draining: true });
    await beat({ draining: true });
    expect(events).toEqual([{ type: 'runner_changed', runnerId: runner }]);
  });

  it('stores facts and labels of a heartbeat and keeps them when the next one is silent about them', async () => {
    const facts = {
      version: '0.10.0',
      os: 'linux',
      arch: 'x64',
      isolation: 'namespaces',
      executor: 'namespaces',
    };
    await beat({ facts, labels: { zone: 'a' } });
    await beat();
    const [row] = await world.db
      .sql`select version, os, arch, isolation, executor, labels from runners where id = ${runner}`;
    expect(row).toEqual({ ...facts, labels: { zone: 'a' } });
  });

  it('does nothing the second time for a request whose nonce comes twice, by whatever call', async () => {
    const nonce = { keyId: 'k', nonce: randomKey('nonce'), created: timestampFromDate(new Date()) };
    const signed = { ...caller(), nonce };
    await dispatch.heartbeat({ caller: signed, heartbeat: { runnerId: runner, labels: { zone: 'a' } } });
    const id = await submitted();
    const again = [
      dispatch.heartbeat({ caller: signed, heartbeat: { runnerId: runner, labels: { zone: 'b' } } }),
      dispatch.poll({ caller: signed, kind: WorkKind.RUN, pollId: randomKey('poll'), slots: 1 }),
      dispatch.appendLogs({ caller: signed, kind: WorkKind.RUN, logs: { id, epoch: 1, offset: 0 } }),
      dispatch.report({
        caller: signed,
        kind: WorkKind.RUN,
        report: { id, epoch: 1, reportId: 'r', reason: EndReason.EXIT },
      }),
    ];
    for (const call of await Promise.allSettled(again))
      expect(call).toMatchObject({ status: 'rejected', reason: { code: 'replayed' } });
    const [row] = await world.db.sql`
      select r.labels, w.state from runners r, work_items w where r.id = ${runner} and w.id = ${id}`;
    expect(row).toEqual({ labels: { zone: 'a' }, state: 'queued' });
  });

  const signed = (bootId = '') => ({
    ...caller(bootId),
    nonce: { keyId: 'k', nonce: randomKey('nonce'), created: timestampFromDate(new Date()) },
  });

  it('uses the nonce up with what a poll does, also for a process that takes its runner over', async () => {
    const id = await submitted();
    const asks = signed('process-1');
    const poll = { kind: WorkKind.RUN, pollId: randomKey('poll'), slots: 1 };
    const { offer } = await dispatch.poll({ caller: asks, ...poll });
    expect(offer?.work).toMatchObject({ case: 'run', value: { id, epoch: 1 } });
    await expect(dispatch.poll({ caller: asks, ...poll })).rejects.toMatchObject({ code: 'replayed' });
    // Signed anew, the repeated poll finds its offer.
    const again = await dispatch.poll({ caller: signed('process-1'), ...poll });
    expect(again.offer?.work).toMatchObject({ case: 'run', value: { id, epoch: 1 } });
  });

  it('uses the nonce up with a report that it accepts, repeats or refuses', async () => {
    const id = await submitted();
    await beginPoll();
    const report = { id, epoch: 1, reportId: 'r', reason: EndReason.EXIT, exitCode: 0 };
    const send = async (as: ReturnType<typeof signed>, more: object = {}) =>
      await dispatch.report({ caller: as, kind: WorkKind.RUN, report: { ...report, ...more } });
    const [first, second, third] = [signed(), signed(), signed()];
    expect(await send(first)).toMatchObject({ accepted: true, repeated: false });
    expect(await send(second)).toMatchObject({ accepted: true, repeated: true });
    await expect(send(third, { exitCode: 1 })).rejects.toMatchObject({ code: 'stale_epoch' });
    for (const used of [first, second, third])
      await expect(send(used)).rejects.toMatchObject({ code: 'replayed' });
    const stale = timestampFromDate(new Date(Date.now() - 200_000));
    await expect(
      send({ ...first, nonce: { ...first.nonce, nonce: randomKey('nonce'), created: stale } }),
    ).rejects.toMatchObject({ code: 'replayed' });
  });

  it('grants one of two polls that come with one nonce at once', async () => {
    await submitted();
    await submitted();
    const as = signed();
    const polls = await Promise.allSettled(
      Array.from({ length: 8 }, async () =>
        dispatch.poll({ caller: as, kind: WorkKind.RUN, pollId: randomKey('poll'), slots: 1 }),
      ),
    );
    expect(polls.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const [row] = await world.db
      .sql`select count(*)::int as queued from work_items where team_id = ${team} and state = 'queued'`;
    expect(row).toEqual({ queued: 1 });
  });

  it('asks for self-diagnostics until they come', async () => {
    await world.db.sql`update runners set diagnostics_requested_at = now() where id = ${runner}`;
    expect((await beat()).directives).toMatchObject({ sendDiagnostics: true });
    expect(
      (await beat({ diagnostics: { containerCliVersion: 'podman 4.3.1', workspaceFreeMb: 5 } })).directives,
    ).toMatchObject({ sendDiagnostics: false });
    expect((await beat()).directives).toMatchObject({ sendDiagnostics: false });
  });

  it('knows keys by their thumbprint', async () => {
    const [row] = await world.db.sql<
      Array<{ key_id: string }>
    >`select key_id from runners where id = ${runner}`;
    expect(await dispatch.resolveKey({ keyId: row!.key_id })).toMatchObject({
      known: true,
      runnerId: runner,
      teamId: team,
      revoked: false,
    });
    expect(await dispatch.resolveKey({ keyId: 'other' })).toMatchObject({ known: false });
  });

  it.each([
    ['a poll', async () => await dispatch.poll({ kind: WorkKind.RUN, pollId: 'p', slots: 1 })],
    ['an unknown kind', async () => await beginPoll({ kind: 7 })],
    ['a heartbeat that is none', async () => await dispatch.heartbeat({ caller: caller() })],
    [
      'a nonce without its time',
      async () =>
        await dispatch.heartbeat({
          caller: { ...caller(), nonce: { keyId: 'k', nonce: 'n' } },
          heartbeat: {},
        }),
    ],
  ])('refuses %s without what it needs', async (_name, call) => {
    await expect(call()).rejects.toMatchObject({ code: 'validation_failed' });
  });
});
