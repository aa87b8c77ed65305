/**
 * The broker has three nodes under two gateways and a server: whatever happens to a node, hints arrive again
 * by themselves. The same under load, partitions included, is `npm run faults -- --row broker-node`.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Subscription, WorkHint, WorkQueue } from '@svc/proto/queue/queue.ts';
import { connectRabbit } from '@svc/proto/queue/rabbit.ts';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startBrokerNodes, type BrokerNodes } from '../setup/broker-nodes.ts';
import { has } from '../setup/needs.ts';
import { waitFor } from '../setup/wait-for.ts';

const there = await has('rabbitmq-server');
const quiet = { info: () => undefined, warn: () => undefined };
/** Lost together with their node. */
const POOLS = 100;
/** Far beyond what it takes: three nodes share two cores with the other tests. */
const AWAKE_MS = 60_000;

interface Watched extends Subscription {
  readonly got: string[];
  /** How often hints stopped to arrive. */
  readonly losses: () => number;
}

describe.skipIf(!there)('a broker of three nodes', () => {
  let folder: string;
  let broker: BrokerNodes;
  const open: WorkQueue[] = [];
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'svc-broker-'));
    broker = await startBrokerNodes(folder, { count: 3 });
  }, 180_000);
  afterEach(async () => void (await Promise.all(open.splice(0).map(async (queue) => await queue.close()))));
  afterAll(async () => {
    await broker.stop();
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  });

  /** Connects to this node, and to the others when it is lost. */
  const connect = async (role: 'server' | 'gateway', node: number, login = 'guest:guest') => {
    const hosts = broker.nodes.map(({ port }) => `127.0.0.1:${port}`);
    const url = `amqp://${login}@${hosts.join(',')}`;
    const queue = connectRabbit({ url, role, log: quiet, random: () => node / hosts.length });
    open.push(queue);
    return queue;
  };
  const world = async (gatewayNode: number) => {
    const [server, gateway] = [await connect('server', 2), await connect('gateway', gatewayNode)];
    await waitFor('both up', () => server.up && gateway.up, { withinMs: AWAKE_MS });
    return { server, gateway };
  };
  const watch = (queue: WorkQueue, poolId: string): Watched => {
    const got: string[] = [];
    let losses = 0;
    const subscription = queue.subscribe(poolId, 'run', {
      onHint: ({ workId }) => got.push(workId),
      onLive: (live) => (losses += live ? 0 : 1),
    });
    return Object.assign(Object.create(subscription) as Subscription, { got, losses: () => losses });
  };
  const watchMany = (queue: WorkQueue, name: string): Map<string, Watched> =>
    new Map(Array.from({ length: POOLS }, (_, i) => [`${name}_${i}`, watch(queue, `${name}_${i}`)]));
  const dark = (pools: ReadonlyMap<string, Watched>): number =>
    [...pools.values()].filter(({ live }) => !live).length;
  const hintOf = (poolId: string, n: number): WorkHint => ({
    workId: `run_${n}`,
    poolId,
    kind: 'run',
    count: 1,
  });
  /** Every pool is live, and every pool is reached. */
  const allReached = async (
    { server, gateway }: Awaited<ReturnType<typeof world>>,
    pools: ReadonlyMap<string, Watched>,
  ) => {
    await waitFor('every pool live', () => dark(pools), { holds: (n) => n === 0, withinMs: AWAKE_MS });
    await waitFor('both up', () => server.up && gateway.up, { withinMs: AWAKE_MS });
    for (const { got } of pools.values()) got.length = 0;
    await Promise.all([...pools.keys()].map(async (poolId) => await server.hint(hintOf(poolId, 1))));
    await waitFor(
      'a hint for every pool',
      () => [...pools.values()].filter(({ got }) => got.length === 0).length,
      {
        holds: (n) => n === 0,
      },
    );
  };

  it('loses the one of a gateway by kill -9 → its pools are live again at another node, and those of other gateways lose no hint', async () => {
    const { server, gateway } = await world(0);
    const other = await connect('gateway', 1);
    const pools = watchMany(gateway, 'killed');
    const spared = watch(other, 'spared');
    await allReached({ server, gateway }, pools);
    await waitFor('the other gateway', () => spared.live && other.up, { withinMs: AWAKE_MS });
    let sent = 0;
    const hinting = (async () => {
      // Among hints to queues that are dying, which the broker refuses.
      while (dark(pools) > 0 || sent < 200) {
        sent += 1;
        const refused = server.hint(hintOf(`killed_${sent % POOLS}`, sent)).catch(() => undefined);
        await Promise.all([server.hint(hintOf('spared', sent)), refused]);
        await new Promise((resolve) => setImmediate(resolve));
        if (sent === 50) await broker.nodes[0]?.process.kill();
      }
    })();
    await hinting;
    expect(dark(pools)).toBe(0);
    await waitFor('all hints of the spared pool', () => spared.got.length, { holds: (n) => n === sent });
    expect(spared.losses()).toBe(0);
    await allReached({ server, gateway }, pools);
    await broker.nodes[0]?.process.start();
  }, 180_000);

  it('is restarted node by node → every pool is live at the end', async () => {
    const { server, gateway } = await world(0);
    const pools = watchMany(gateway, 'rolling');
    for (const { process, control } of broker.nodes) {
      await allReached({ server, gateway }, pools);
      expect(await control('stop_app')).toBe(true);
      await waitFor('still or again up', () => gateway.up && server.up, { withinMs: AWAKE_MS });
      expect(process.running && (await control('start_app'))).toBe(true);
    }
    await allReached({ server, gateway }, pools);
  }, 180_000);

  it('refuses to declare, bind or read some queues → the others are live, and stay it', async () => {
    const control = broker.nodes[0]!.control;
    await control('add_user', 'narrow', 'narrow');
    const but = (pool: string): string => `^(?!work\\.run\\.${pool}).*`;
    expect(await control('set_permissions', 'narrow', but('undeclared'), but('unbound'), but('unread'))).toBe(
      true,
    );
    const [server, gateway] = [await connect('server', 2), await connect('gateway', 0, 'narrow:narrow')];
    const pools = watchMany(gateway, 'good');
    const refused = ['undeclared', 'unbound', 'unread'].flatMap((name) =>
      Array.from({ length: 8 }, (_, i) => watch(gateway, `${name}_${i}`)),
    );
    await allReached({ server, gateway }, pools);
    // The refused ones are tried again and again meanwhile.
    const late = watchMany(gateway, 'late');
    await allReached({ server, gateway }, late);
    expect([...pools.values(), ...late.values()].filter(({ losses }) => losses() > 0)).toEqual([]);
    expect(refused.filter(({ live }) => live)).toEqual([]);
  }, 120_000);
});
