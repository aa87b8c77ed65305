/**
 * This benchmark measures a storm of GitHub's webhooks, 1,000 a second for 10 s from a process of its own, at
 * one server process: how many it takes and how long each waits from the moment at which it was due, while it
 * reads them behind its answers. Beside it stands a receiver that checks the signature and inserts, and reads
 * nothing. Then comes the same storm with `kill -9` in its middle: every acknowledged delivery must be there
 * and be read.
 */
import {
  connectGithub,
  outcomeOf,
  startKillable,
  storm,
  type Storm,
  type StormSummary,
} from '../e2e/webhook-storm.ts';
import { startProgram } from '../e2e/processes.ts';
import { freshDatabase } from './database.ts';
import { figure, type Figure } from './figure.ts';

const RATE = { perSecond: 1_000, seconds: 10 };
const REPOSITORY = 'acme/storm';
const DRAIN_MS = 300_000;
/** Their events are at ids of their own. */
const [FIRST, MEASURED, KILLED] = [1_000_000, 2_000_000, 3_000_000];

async function reference(): Promise<StormSummary> {
  await using database = await freshDatabase();
  const server = startProgram('test/bench/reference/webhooks.mjs', [database.url, 'secret']);
  try {
    const [, url = ''] = await server.says(/listening on (\S+)/);
    const request = { url: `${url}/webhooks`, secret: 'secret', repository: REPOSITORY };
    await storm({ ...request, perSecond: 500, seconds: 2, from: FIRST });
    return await storm({ ...request, ...RATE, from: MEASURED });
  } finally {
    await server.stop();
  }
}

async function ours() {
  await using database = await freshDatabase();
  await using server = await startKillable(database.url);
  const { connectionId, url, secret } = await connectGithub(server, REPOSITORY);
  const request: Omit<Storm, 'perSecond' | 'seconds' | 'from'> = { url, secret, repository: REPOSITORY };
  const drained = async ({ acknowledged }: StormSummary) =>
    await outcomeOf(database.url, connectionId, { acknowledged, withinMs: DRAIN_MS });
  await drained(await storm({ ...request, perSecond: 500, seconds: 2, from: FIRST }));
  const steady = await storm({ ...request, ...RATE, from: MEASURED });
  const read = await drained(steady);
  const killed = await storm({ ...request, ...RATE, from: KILLED }, async () => {
    await new Promise((resolve) => setTimeout(resolve, 4_000));
    await server.kill();
    await server.restart();
  });
  return { steady, read, killed, after: await drained(killed) };
}

export async function run(): Promise<Figure[]> {
  const theirs = await reference();
  const { steady, read, killed, after } = await ours();
  for (const [name, of] of Object.entries({ theirs, steady, killed }))
    console.log(JSON.stringify({ ...of, name, acknowledged: of.acknowledged.length }));
  const rate = ({ accepted, tookMs }: StormSummary): number => (accepted / tookMs) * 1_000;
  const lost = [read, after].flatMap((one) => [...one.lost, ...one.unread, ...one.open]);
  const receiver = 'fastify + postgres.js, one insert each, read by nobody';
  return [
    figure({
      name: `webhooks accepted, ${RATE.perSecond}/s offered for ${RATE.seconds} s`,
      value: rate(steady),
      unit: 'deliveries/s',
      reference: receiver,
      referenceValue: rate(theirs),
      target: '≥ 990/s',
      pass: (value) => value >= 990,
    }),
    figure({
      name: 'the same: p50 of the answer',
      value: steady.p50,
      unit: 'ms',
      reference: receiver,
      referenceValue: theirs.p50,
      target: 'none',
      pass: () => true,
    }),
    figure({
      name: 'the same: p99 of the answer',
      value: steady.p99,
      unit: 'ms',
      reference: receiver,
      referenceValue: theirs.p99,
      target: '≤ 50 ms',
      pass: (value) => value <= 50,
    }),
    figure({
      name: 'the same: read, from the first until nothing waits',
      value: (steady.accepted / (steady.tookMs + read.drainedMs)) * 1_000,
      unit: 'deliveries/s',
      reference: 'as offered',
      referenceValue: RATE.perSecond,
      target: 'none',
      pass: () => true,
    }),
    figure({
      name: 'acknowledged deliveries that are gone or unread, kill -9 in the middle',
      value: lost.length,
      unit: 'deliveries',
      reference: 'acknowledged',
      referenceValue: steady.accepted + killed.accepted,
      target: '0',
      pass: (value) => value === 0,
    }),
  ];
}
