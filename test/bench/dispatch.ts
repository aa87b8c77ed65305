/**
 * This benchmark measures the latency of dispatch: the time from sending a developer's submit request until
 * the runner holds the offer, one at a time, through HTTP, a signature check and the queue, embedded and on
 * RabbitMQ. Beside it runs graphile-worker, which crosses none of them.
 */
import { figure, percentile, type Figure } from './figure.ts';
import { createJsonClient, enrollBenchRunner, type BenchRunner, type JsonClient } from './client.ts';
import { freshDatabase } from './database.ts';
import { graphile } from './graphile.ts';
import { AMQP_URL } from '../setup/needs.ts';
import { startPlatform, type Platform } from '../e2e/platform.ts';

const WARM_UP = 50;
const SAMPLES = 400;

interface Sample {
  readonly latencyMs: number;
}

async function oneRun(
  client: JsonClient,
  platform: Platform,
  { runner, teamId }: { readonly runner: BenchRunner; readonly teamId: string },
): Promise<Sample> {
  const polled = runner.call('poll', { waitMs: 30_000 });
  // The poll is parked when this comes back: what is measured is the hint's way, not the poll's own first
  // look.
  await runner.call('heartbeat', {});
  const startedAt = performance.now();
  const submitted = client.post(
    `/teams/${teamId}/sandbox-runs`,
    { command: ['true'] },
    { authorization: `Bearer ${platform.bootstrap.apiKey}` },
  );
  const { body } = await polled;
  const latencyMs = performance.now() - startedAt;
  const offer = body['run'] as { id: string; epoch: number } | undefined;
  if (offer === undefined)
    throw new Error(
      `the poll came back without an offer: ${JSON.stringify(body)}; submit: ${JSON.stringify(await submitted)}`,
    );
  await submitted;
  await runner.call('report', {
    id: offer.id,
    epoch: offer.epoch,
    reportId: `bench-${offer.id}`,
    reason: 'exit',
    exitCode: 0,
  });
  return { latencyMs };
}

async function measure(env: Record<string, string>): Promise<number[]> {
  const platform = await startPlatform({ LIMIT_REQUESTS_PER_MINUTE: '10000000', ...env });
  const client = createJsonClient(platform.url, 8);
  try {
    const teamId = await platform.customerTeam('bench');
    const { token } = await platform.sdk.runners.createEnrollToken(teamId);
    const runner = await enrollBenchRunner(client, platform.url, { token, name: 'bench' });
    const samples: number[] = [];
    for (let index = 0; index < WARM_UP + SAMPLES; index += 1) {
      const { latencyMs } = await oneRun(client, platform, { runner, teamId });
      if (index >= WARM_UP) samples.push(latencyMs);
    }
    return samples;
  } finally {
    client.close();
    await platform.stop();
  }
}

async function reference(): Promise<number[]> {
  await using database = await freshDatabase();
  return await graphile(database.url, 'latency', { count: SAMPLES });
}

export async function run(): Promise<Figure[]> {
  const theirs = await reference();
  const embedded = await measure({});
  await using database = await freshDatabase();
  const rabbit = await measure({ DATABASE_URL: database.url, AMQP_URL });
  const figures = (where: string, samples: readonly number[], most: number) =>
    (
      [
        ['p50', 0.5],
        ['p99', 0.99],
      ] as const
    ).map(([label, share]) =>
      figure({
        name: `submit → offer, ${where}, ${label}`,
        value: percentile(samples, share),
        unit: 'ms',
        reference: `graphile-worker add → start, ${label}`,
        referenceValue: percentile(theirs, share),
        target: `≤ ${most} ×`,
        pass: (_, ratio) => ratio <= most,
      }),
    );
  return [...figures('embedded', embedded, 1.5), ...figures('RabbitMQ', rabbit, 2.5)];
}
