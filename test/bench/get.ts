/**
 * GET of one resource, authorised, one indexed read: the product beside fastify with postgres.js reading the
 * same row of the same database. Each server is its own process with its own turn, in alternating rounds.
 */
import { figure, median, type Figure } from './figure.ts';
import { applyLoad } from './load.ts';
import { freshDatabase } from './database.ts';
import { startPlatform } from '../e2e/platform.ts';
import { startProgram } from '../e2e/processes.ts';

const ROUNDS = 5;
const load = { connections: 32, durationMs: 2_000 };

export async function run(): Promise<Figure[]> {
  await using database = await freshDatabase();
  const platform = await startPlatform({ DATABASE_URL: database.url, LIMIT_REQUESTS_PER_MINUTE: '10000000' });
  const team = await platform.customerTeam('bench');
  const { id } = await platform.sdk.sandboxRuns.create(team, { command: ['true'] });
  // An ended run is one read; of one that waits a second read tells why, which roughly halves the rate.
  await platform.sdk.sandboxRuns.cancel(id);
  const reference = startProgram('test/bench/reference/fastify.mjs', [database.url]);
  const referenceUrl = (await reference.says(/listening on (\S+)/))[1] ?? '';
  const headers = { authorization: `Bearer ${platform.bootstrap.apiKey}` };
  const ours: number[] = [];
  const theirs: number[] = [];
  try {
    for (let round = 0; round < ROUNDS; round += 1) {
      const results = [
        await applyLoad({ ...load, url: `${referenceUrl}/sandbox-runs/${id}` }),
        await applyLoad({ ...load, url: `${platform.url}/sandbox-runs/${id}`, headers }),
      ];
      for (const { statuses } of results)
        if (statuses.size !== 1 || !statuses.has(200))
          throw new Error(`not every answer is 200: ${JSON.stringify([...statuses])}`);
      theirs.push(results[0]?.perSecond ?? 0);
      ours.push(results[1]?.perSecond ?? 0);
    }
  } finally {
    await reference.stop();
    await platform.stop();
  }
  return [
    figure({
      name: 'GET /sandbox-runs/:id, authorised',
      value: median(ours),
      unit: 'requests/s',
      reference: 'fastify + postgres.js, the same row',
      referenceValue: median(theirs),
      target: '≥ 0.7 ×',
      pass: (_, ratio) => ratio >= 0.7,
    }),
  ];
}
