/**
 * A daemon whose earlier process died gives back what that one held: the next attempt does not wait for the
 * end of the lease.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { createIndependentRunner } from '../../../test/e2e/independent-runner.ts';
import { has } from '../../../test/setup/needs.ts';
import { world, type World } from '../../../test/setup/world.ts';

interface Offer {
  readonly id: string;
  readonly epoch: number;
  readonly attempt: number;
}

describe.skipIf(!(await has('postgres')))('leases that are given back', () => {
  let w: World;
  let runner: ReturnType<typeof createIndependentRunner>;
  let other: typeof runner;
  const enrolled = async (name: string) => {
    const made = createIndependentRunner(w.server.baseUrl);
    await made.enroll((await w.sdk.runners.createEnrollToken(w.teamId)).token, name);
    const facts = { version: '1.0.0', os: 'linux', arch: 'x64', isolation: 'container', executor: 'podman' };
    await made.call('heartbeat', { facts });
    return made;
  };
  beforeAll(async () => {
    w = await world();
    await w.runner();
    [runner, other] = [await enrolled('died'), await enrolled('other')];
  });
  const take = async (bootId: string): Promise<Offer> => {
    const { body } = await runner.call('poll', { bootId, waitMs: 20_000 });
    if (body['run'] === undefined) throw new Error(`no run came: ${JSON.stringify(body)}`);
    return body['run'] as Offer;
  };
  const running = async (bootId: string): Promise<Offer> => {
    await runner.call('heartbeat', { bootId });
    await w.sdk.sandboxRuns.create(w.teamId, { purpose: 'agent_task', command: ['true'] });
    const { id, epoch, attempt } = await take(bootId);
    const held = { id, epoch };
    await runner.call('heartbeat', { bootId, leases: [held] });
    return { ...held, attempt };
  };
  const giveBack = async (who: typeof runner, bootId: string, held: Pick<Offer, 'id' | 'epoch'>) => {
    const answer = await who.call('heartbeat', { bootId, givenBack: [{ id: held.id, epoch: held.epoch }] });
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  };

  it('end at once, count as an attempt, and are closed to the process that had them', async () => {
    const held = await running('boot-1');
    await giveBack(runner, 'boot-2', held);
    const next = await take('boot-2');
    expect(next).toMatchObject({ id: held.id, epoch: held.epoch + 1, attempt: 2 });
    const late = { id: held.id, epoch: held.epoch, reportId: 'report-late', reason: 'exit', exitCode: 0 };
    expect((await runner.call('report', late)).body).toMatchObject({ error: { code: 'stale_epoch' } });
    // Said again, it takes nothing from the next attempt.
    await giveBack(runner, 'boot-2', held);
    const done = await runner.call('report', { ...late, epoch: next.epoch, reportId: 'report-next' });
    expect(done.status, JSON.stringify(done.body)).toBe(200);
    expect(await w.sdk.sandboxRuns.get(held.id)).toMatchObject({ state: 'succeeded', attempt: 2 });
  });

  it('are left alone of another runner, of another epoch, and of a process that was replaced', async () => {
    const held = await running('boot-3');
    await giveBack(other, 'boot-1', held);
    await giveBack(runner, 'boot-3', { ...held, epoch: held.epoch + 1 });
    await giveBack(runner, 'boot-3', { ...held, epoch: held.epoch - 1 });
    const replaced = await runner.call('heartbeat', {
      bootId: 'boot-1',
      givenBack: [{ id: held.id, epoch: held.epoch }],
    });
    expect(replaced.body).toMatchObject({ error: { code: 'boot_superseded' } });
    expect(await w.sdk.sandboxRuns.get(held.id)).toMatchObject({ state: 'running', attempt: 1 });
    const { body } = await runner.call('heartbeat', {
      bootId: 'boot-3',
      leases: [{ id: held.id, epoch: held.epoch }],
    });
    expect(body['leases']).toMatchObject([{ state: 'ok' }]);
  });
});
