/**
 * Measures hints on a broker of three nodes, beside one of a single node: the time from the publication until
 * the handler among 2,000 subscribed pools, and how long all of them take to be awake again after `kill -9`
 * of the gateway's node. The nodes share the machine, which in life each has for itself.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { WorkQueue } from '@svc/proto/queue/queue.ts';
import { connectRabbit } from '@svc/proto/queue/rabbit.ts';
import { startBrokerNodes, type BrokerNodes } from '../setup/broker-nodes.ts';
import { waitFor } from '../setup/wait-for.ts';
import { figure, percentile, type Figure } from './figure.ts';

const POOLS = 2_000;
const SAMPLES = 2_000;
const WITHIN_MS = 120_000;
const AWAKE_MS_MAX = 15_000;
const quiet = { info: () => undefined, warn: () => undefined };

interface World {
  readonly broker: BrokerNodes;
  readonly server: WorkQueue;
  /** Milliseconds that it took until all pools were live. */
  readonly setUpMs: number;
  /** Pools that are not live. */
  dark(): number;
  /** Publishes to one pool after the other, each when the one before it has arrived. */
  latencies(): Promise<number[]>;
}

/** The server is at the last node, the gateway at the first. */
async function within<T>(count: number, act: (world: World) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-wake-'));
  const broker = await startBrokerNodes(folder, { count });
  const url = `amqp://guest:guest@${broker.nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`;
  const server = connectRabbit({ url, role: 'server', log: quiet, random: () => 1 - 1 / count });
  const gateway = connectRabbit({ url, role: 'gateway', log: quiet, random: () => 0 });
  try {
    await waitFor('both up', () => server.up && gateway.up, { withinMs: WITHIN_MS });
    let arrived: (poolId: string) => void = () => undefined;
    const startedMs = performance.now();
    const pools = Array.from({ length: POOLS }, (_, i) =>
      gateway.subscribe(`team_${i}`, 'run', {
        onHint: ({ poolId }) => arrived(poolId),
        onLive: () => undefined,
      }),
    );
    const dark = (): number => pools.filter(({ live }) => !live).length;
    await waitFor('all pools live', dark, { holds: (n) => n === 0, withinMs: WITHIN_MS });
    const setUpMs = performance.now() - startedMs;
    const latencies = async (): Promise<number[]> => {
      const samples: number[] = [];
      for (let i = 0; i < SAMPLES; i += 1) {
        const poolId = `team_${(i * 7) % POOLS}`;
        const sentMs = performance.now();
        const there = new Promise<void>((resolve) => {
          arrived = (got) => (got === poolId ? resolve() : undefined);
        });
        await Promise.all([there, server.hint({ workId: 'run_1', poolId, kind: 'run', count: 1 })]);
        samples.push(performance.now() - sentMs);
      }
      return samples;
    };
    return await act({ broker, server, setUpMs, dark, latencies });
  } finally {
    await Promise.all([server.close(), gateway.close()]);
    await broker.stop();
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }
}

export async function run(): Promise<Figure[]> {
  const one = await within(1, async ({ latencies }) => await latencies());
  const { three, setUpMs, awakeMs } = await within(3, async (world) => {
    const samples = await world.latencies();
    const killedMs = performance.now();
    await world.broker.nodes[0]?.process.kill();
    await waitFor('the loss', world.dark, { holds: (n) => n > 0 });
    await waitFor('all pools awake', world.dark, { holds: (n) => n === 0, withinMs: WITHIN_MS });
    return { three: samples, setUpMs: world.setUpMs, awakeMs: performance.now() - killedMs };
  });
  return [
    figure({
      name: `hint → handler, ${POOLS} pools, three nodes, p50`,
      value: percentile(three, 0.5),
      unit: 'ms',
      reference: 'one node',
      referenceValue: percentile(one, 0.5),
      target: '≤ 1.2 ×',
      pass: (_, ratio) => ratio <= 1.2,
    }),
    figure({
      name: `${POOLS} pools awake after kill -9 of their node`,
      value: awakeMs / 1_000,
      unit: 's',
      reference: 'declared the first time',
      referenceValue: setUpMs / 1_000,
      target: `≤ ${AWAKE_MS_MAX / 1_000} s`,
      pass: (value) => value * 1_000 <= AWAKE_MS_MAX,
    }),
  ];
}
