/** A follower of a build is told these things, in this order. */
import { BuildsService, BuildState, DeployDecision, Phase } from '@svc/proto/gen/svc/builds/v1/builds_pb.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { createAppendLogs } from '../work/append-logs.ts';
import { createHeartbeat } from '../work/heartbeat.ts';
import { createBuildWorld, type BuildWorld } from '../../../test/setup/builds/build-world.ts';
import { waitFor } from '../../../test/setup/wait-for.ts';

const there = await has('postgres');
const DEPLOY = { kind: 'container', app: 'web', containerPort: 8080, hostPort: 0 };

interface Event {
  readonly position: string;
  readonly attempt: number;
  readonly text?: string;
  readonly state?: BuildState;
  readonly phase?: Phase;
}

const word = ({ attempt, text, state, phase }: Event): string => {
  const what = text !== undefined ? `"${text}"` : state !== undefined ? BuildState[state] : Phase[phase ?? 0];
  return `${attempt} ${what}`;
};

describe.skipIf(!there)('the stream of a build', () => {
  let world: BuildWorld;
  let environmentId: string;
  let runner: string;
  beforeAll(async () => {
    world = await createBuildWorld();
    environmentId = await world.environment({ deploy: DEPLOY, deployApproval: true });
    runner = await world.runner(world.teamId);
  });
  afterAll(async () => await world?.drop());

  const log = async (id: string, epoch: number, offset: number, text: string): Promise<void> => {
    const pieces = [{ stream: 'stdout' as const, data: Buffer.from(text) }];
    const input = { runnerId: runner, kind: 'build' as const, id, epoch, offset, pieces };
    await createAppendLogs(world.db.sql, world.settings)(input);
    world.wake.notify(id);
  };
  const eventsOf = (request: object, signal?: AbortSignal) =>
    world.stream({ environmentId, ...request }, signal) as AsyncIterable<unknown> as AsyncIterable<Event>;
  const collect = async (request: object, signal?: AbortSignal): Promise<Event[]> => {
    const events: Event[] = [];
    for await (const event of eventsOf(request, signal)) events.push(event);
    return events;
  };
  /** Returns what a follower has been told by now, and how to wait for more. */
  const follow = (buildId: string) => {
    const told: string[] = [];
    const following = (async () => {
      for await (const event of eventsOf({ buildId })) told.push(word(event));
    })();
    const has = async (what: string) =>
      await waitFor(what, () => told, { holds: (all) => all.includes(what) });
    return { told, following, has };
  };

  /** Lost in its first attempt, published in its second one, deployed after an approval. */
  const story = async (): Promise<{ readonly id: string; readonly deployId: string }> => {
    const id = await world.submitBuild(environmentId);
    await world.pollBuild(runner);
    await world.beatBuild(runner, { id, epoch: 1, phase: 1 });
    await log(id, 1, 0, 'cloning\n');
    await world.beatBuild(runner, { id, epoch: 1, phase: 2 });
    await log(id, 1, 8, 'lost\n');
    await world.expire(id);
    const { sweep } = await import('../work/sweeper.ts');
    await sweep(world.db.sql, world.settings);
    await world.db.sql`update work_items set run_after = now() where id = ${id}`;
    await world.pollBuild(runner);
    await world.beatBuild(runner, { id, epoch: 2, phase: 1 });
    await log(id, 2, 0, 'again\n');
    await world.beatBuild(runner, { id, epoch: 2, phase: 3 });
    await log(id, 2, 6, 'pushed\n');
    await world.reportBuild(runner, { id, epoch: 2 });
    await world.db.sql`update work_items set log_complete = true where id = ${id}`;
    const decision = { environmentId, buildId: id, decision: DeployDecision.APPROVE };
    await world.call(BuildsService.method.deployApproval, decision);
    const grant = await world.pollBuild(runner);
    const deployId = grant?.workId ?? '';
    await world.beatBuild(runner, { id: deployId, epoch: 1, phase: 4 });
    await log(deployId, 1, 0, 'up\n');
    await world.reportBuild(runner, { id: deployId, epoch: 1 });
    await world.db.sql`update work_items set log_complete = true where id = ${deployId}`;
    return { id, deployId };
  };
  const TOLD = [
    '1 CLONING',
    '1 "cloning\n"',
    '1 BUILDING',
    '1 "lost\n"',
    '2 CLONING',
    '2 "again\n"',
    '2 PUBLISHING',
    '2 "pushed\n"',
    '3 DEPLOYING',
    '3 "up\n"',
    '3 SUCCEEDED',
  ];

  it('tells every attempt with its phases and output, and the end last', async () => {
    const { id } = await story();
    expect((await collect({ buildId: id })).map(word)).toEqual(TOLD);
  });

  it('tells phases and output in the order in which they were stored, whatever their times say', async () => {
    const id = await world.submitBuild(environmentId);
    await world.pollBuild(runner);
    for (const phase of [1, 2, 3]) {
      await world.beatBuild(runner, { id, epoch: 1, phase });
      await log(id, 1, (phase - 1) * 2, `${phase}\n`);
    }
    // As if all of it had happened at once, or the clock had been set back in between.
    await world.db
      .sql`update build_phases set started_at = now() - phase * interval '1 hour' where work_id = ${id}`;
    await world.db.sql`update work_logs set at = now() where work_id = ${id}`;
    const told = (await collect({ buildId: id, follow: false })).map(word).slice(1, -1);
    expect(told).toEqual(['1 CLONING', '1 "1\n"', '1 BUILDING', '1 "2\n"', '1 PUBLISHING', '1 "3\n"']);
    await world.reportBuild(runner, { id, epoch: 1 });
    await world.call(BuildsService.method.cancel, { environmentId, buildId: id });
  });

  it('tells a phase behind the output that its runner had written before it, however late that comes', async () => {
    const id = await world.submitBuild(environmentId);
    await world.pollBuild(runner);
    const enter = async (phase: number, phaseOffset: number): Promise<void> => {
      const leases = [{ id, epoch: 1, phase, phaseOffset }];
      await createHeartbeat(
        world.db.sql,
        world.settings,
      )({
        runnerId: runner,
        bootId: '',
        leases,
        draining: false,
      });
      world.wake.notify(id);
    };
    const { told, following, has } = follow(id);
    await enter(1, 0);
    await log(id, 1, 0, 'one\n');
    await has('1 "one\n"');
    await enter(2, 8);
    await enter(3, 12);
    await has('1 PUBLISHING'); // As the state, which is told at once.
    await log(id, 1, 4, 'two\n');
    await log(id, 1, 8, 'six\n');
    await log(id, 1, 12, 'ten\n');
    await has('1 "ten\n"');
    // One whose output never comes is told at the end.
    await enter(4, 1_000);
    await world.reportBuild(runner, { id, epoch: 1 });
    await world.db.sql`update work_items set log_complete = true where id = ${id}`;
    await world.call(BuildsService.method.deployApproval, {
      environmentId,
      buildId: id,
      decision: DeployDecision.REJECT,
    });
    await following;
    const phases = new Set(['1 CLONING', '1 BUILDING']);
    expect(told.filter((what) => what.includes('"') || phases.has(what))).toEqual([
      '1 CLONING',
      '1 "one\n"',
      '1 "two\n"',
      '1 BUILDING',
      '1 "six\n"',
      '1 "ten\n"',
    ]);
    expect(told.filter((what) => what === '1 PUBLISHING')).toHaveLength(2);
    expect(told.lastIndexOf('1 PUBLISHING')).toBe(told.indexOf('1 "six\n"') + 1);
    expect(told.lastIndexOf('1 DEPLOYING')).toBeGreaterThan(told.indexOf('1 "ten\n"'));
  });

  it('goes on from every position without a gap or a repetition', async () => {
    const { id } = await story();
    const all = await collect({ buildId: id });
    for (const [index, { position }] of all.slice(0, -1).entries()) {
      const rest = (await collect({ buildId: id, after: position })).map(word);
      expect(rest, `after ${position}`).toEqual(TOLD.slice(index + 1));
    }
  });

  it('begins so many bytes before the end', async () => {
    const { id } = await story();
    const texts = (await collect({ buildId: id, tailBytes: 2 })).map(({ text }) => text ?? '');
    expect(texts.join('')).toBe('p\n');
  });

  it('follows a build that is going on, over an approval, until its end', async () => {
    const id = await world.submitBuild(environmentId);
    const { told, following, has } = follow(id);
    await has('1 QUEUED');
    await world.pollBuild(runner);
    await world.beatBuild(runner, { id, epoch: 1, phase: 2 });
    await has('1 RUNNING');
    await log(id, 1, 0, 'one\n');
    await has('1 "one\n"');
    await world.beatBuild(runner, { id, epoch: 1, phase: 3 });
    await has('1 PUBLISHING');
    await world.reportBuild(runner, { id, epoch: 1 });
    await world.db.sql`update work_items set log_complete = true where id = ${id}`;
    await has('1 AWAITING_APPROVAL');
    const decision = { environmentId, buildId: id, decision: DeployDecision.REJECT };
    await world.call(BuildsService.method.deployApproval, decision);
    await following;
    expect(told.at(-1)).toBe('1 CANCELLED');
  });

  it('ends when its reader leaves', async () => {
    const id = await world.submitBuild(environmentId);
    const leaving = new AbortController();
    const events = collect({ buildId: id }, leaving.signal);
    leaving.abort();
    expect((await events).length).toBeLessThanOrEqual(1);
    await world.call(BuildsService.method.cancel, { environmentId, buildId: id });
  });

  it('without following says what there is', async () => {
    const id = await world.submitBuild(environmentId);
    expect((await collect({ buildId: id, follow: false })).map(word)).toEqual(['1 QUEUED', '1 QUEUED']);
    await world.call(BuildsService.method.cancel, { environmentId, buildId: id });
  });
});
