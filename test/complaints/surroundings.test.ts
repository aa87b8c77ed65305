/** Complaints that need another installation than the rest: a broker, or a lowest version. */
import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FACTS } from '../e2e/independent-runner.ts';
import { freePorts } from '../faults/free-ports.ts';
import { startTcpProxy, type TcpProxy } from '../setup/tcp-proxy.ts';
import { AMQP_URL, has } from '../setup/needs.ts';
import { gated, useWorld, waitFor } from './world.ts';

const broker = await has('rabbitmq');
const [amqpPort = 0] = await freePorts(1);

describe.skipIf(!broker)('complaints about the broker', () => {
  let way: TcpProxy;
  beforeAll(async () => {
    way = await startTcpProxy([Number(new URL(AMQP_URL).port || '5672')], amqpPort);
  });
  afterAll(async () => await way.close());
  const through = new URL(AMQP_URL);
  through.hostname = '127.0.0.1';
  through.port = String(amqpPort);
  const world = useWorld({ AMQP_URL: through.href }, 0);

  it('2.12 broker ack timeout: while a long job runs the broker holds nothing of it, and may go away', async () => {
    const teamId = await world.team();
    const { home } = await world.daemon(teamId);
    const run = await world.submit(teamId, gated(home));
    await world.until(run.id, 'running');
    // Pointers are thrown away once they are read: a broker that is gone has nothing to put back.
    await way.close();
    writeFileSync(home.file('gate'), '');
    expect(await world.until(run.id, 'succeeded')).toMatchObject({ attempt: 1 });
    expect(home.events().filter(({ event }) => event === 'start')).toHaveLength(1);
  });
});

describe('complaints about versions', () => {
  const world = useWorld({ RUNNER_MIN_VERSION: '2.0.0' }, 0);

  it('2.14 version deprecated: it gets no new work, keeps its identity, and the team sees that reason', async () => {
    const teamId = await world.team();
    const old = await world.scripted(teamId);
    const facts = { ...FACTS, version: '1.9.9' };
    expect(await old.call('heartbeat', { facts })).toMatchObject({ status: 200 });
    const run = await world.submit(teamId, ['echo', 'hi']);
    const polled = await old.call('poll', { waitMs: 0 });
    expect(polled.body['run']).toBeUndefined();
    const waiting = await waitFor('the reason', async () => {
      const { waiting: now } = await world.sdk.sandboxRuns.get(run.id);
      return now?.reason === 'version_too_old' ? now : undefined;
    });
    expect(waiting.detail).toContain('2.0.0');
    expect(await old.call('heartbeat', {})).toMatchObject({ status: 200 });
    // The same runner, upgraded, is served without enrolling anew.
    expect(await old.call('heartbeat', { facts: { ...facts, version: '2.0.0' } })).toMatchObject({
      status: 200,
    });
    const offered = await waitFor(
      'work',
      async () => (await old.call('poll', { waitMs: 1_000 })).body['run'],
    );
    expect(offered).toMatchObject({ id: run.id });
  });
});
