/**
 * This benchmark measures `GET /platform-features/resolved` of nobody, and its 304: the product, with all of
 * its pipeline, runs beside a bare node:http server that sends the very same bytes. Each server is its own
 * process with its own turn, in alternating rounds.
 */
import { figure, median, type Figure } from './figure.ts';
import { applyLoad } from './load.ts';
import { freshDatabase } from './database.ts';
import { startPlatform } from '../e2e/platform.ts';
import { startProgram } from '../e2e/processes.ts';

const ROUNDS = 7;
const PATH = '/platform-features/resolved';
const load = { connections: 32, durationMs: 1_500 };

/** Answers a second; each must have this status. */
async function rate(url: string, status: number, headers: Record<string, string>): Promise<number> {
  const { perSecond, statuses } = await applyLoad({ ...load, url, headers });
  if (statuses.size !== 1 || !statuses.has(status))
    throw new Error(`not every answer is ${status}: ${JSON.stringify([...statuses])}`);
  return perSecond;
}

export async function run(): Promise<Figure[]> {
  await using database = await freshDatabase();
  const platform = await startPlatform({
    DATABASE_URL: database.url,
    LIMIT_ANONYMOUS_PER_MINUTE: '10000000',
  });
  const answer = await fetch(`${platform.url}${PATH}`);
  const etag = answer.headers.get('etag') ?? '';
  const reference = startProgram('test/bench/reference/bytes.mjs', [await answer.text(), etag]);
  const referenceUrl = (await reference.says(/listening on (\S+)/))[1] ?? '';
  const cases = [
    { name: 'GET /platform-features/resolved', status: 200, headers: {} },
    { name: 'GET /platform-features/resolved, known: 304', status: 304, headers: { 'if-none-match': etag } },
  ].map((one) => ({ ...one, ours: [] as number[], theirs: [] as number[] }));
  try {
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const { status, headers, ours, theirs } of cases) {
        theirs.push(await rate(`${referenceUrl}${PATH}`, status, headers));
        ours.push(await rate(`${platform.url}${PATH}`, status, headers));
      }
    }
  } finally {
    await reference.stop();
    await platform.stop();
  }
  return cases.map(({ name, ours, theirs }) =>
    figure({
      name,
      value: median(ours),
      unit: 'requests/s',
      reference: 'bare node:http, the same bytes',
      referenceValue: median(theirs),
      target: '≥ 0.5 ×',
      pass: (_, ratio) => ratio >= 0.5,
    }),
  );
}
