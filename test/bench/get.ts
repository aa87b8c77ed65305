/**
 * GET of one resource, authorised, one read by its key: the product beside fastify with postgres.js reading
 * the same row of the same database. Each server is its own process with its own turn, in alternating rounds.
 */
import { figure, median, type Figure } from './figure.ts';
import { applyLoad } from './load.ts';
import { freshDatabase } from './database.ts';
import { survivors } from './survivors.ts';
import { startPlatform } from '../e2e/platform.ts';
import { startProgram } from '../e2e/processes.ts';

const ROUNDS = 5;
const load = { connections: 32, durationMs: 2_000 };
const SURVIVE_MAX = 500;

export async function run(): Promise<Figure[]> {
  const left = await survivors();
  return [
    ...(await rates()),
    figure({
      name: 'a GET leaves until a major collection, 32 at once',
      value: left.bytesPerRequest,
      unit: 'bytes',
      reference: 'the most',
      referenceValue: SURVIVE_MAX,
      target: '≤ 1 ×',
      pass: (_, ratio) => ratio <= 1,
    }),
  ];
}

async function rates(): Promise<Figure[]> {
  await using database = await freshDatabase();
  const platform = await startPlatform({ DATABASE_URL: database.url, LIMIT_REQUESTS_PER_MINUTE: '10000000' });
  const team = await platform.customerTeam('bench');
  const { id: runId } = await platform.sdk.sandboxRuns.create(team, { command: ['true'] });
  // An ended run is one read; of one that waits a second read tells why, which roughly halves the rate.
  await platform.sdk.sandboxRuns.cancel(runId);
  const { id: projectId } = await platform.sdk.projects.create({ teamId: team, name: 'bench' });
  const reference = startProgram('test/bench/reference/fastify.mjs', [database.url]);
  const referenceUrl = (await reference.says(/listening on (\S+)/))[1] ?? '';
  const headers = { authorization: `Bearer ${platform.bootstrap.apiKey}` };
  const bot = { name: 'bench', kind: 'review', permissions: ['project:read'] } as const;
  const { id: agentId } = await platform.sdk.agents.create(team, {
    ...bot,
    permissions: [...bot.permissions],
  });
  const { secret } = await platform.sdk.agents.issueKey(team, agentId);
  const asAgent = { authorization: `Bearer ${secret}` };
  const byAgent: number[] = [];
  const cases = [
    { path: `/projects/${projectId}`, what: 'GET /projects/:id, authorised', least: 1 },
    { path: `/sandbox-runs/${runId}`, what: 'GET /sandbox-runs/:id, authorised', least: 0.9 },
  ].map((one) => ({ ...one, ours: [] as number[], theirs: [] as number[] }));
  try {
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const { path, ours, theirs } of cases) {
        theirs.push(await rate(`${referenceUrl}${path}`));
        ours.push(await rate(`${platform.url}${path}`, headers));
      }
      byAgent.push(await rate(`${platform.url}/projects/${projectId}`, asAgent));
    }
  } finally {
    await reference.stop();
    await platform.stop();
  }
  const figures = cases.map(({ what, least, ours, theirs }) =>
    figure({
      name: what,
      value: median(ours),
      unit: 'requests/s',
      reference: 'fastify + postgres.js, the same row',
      referenceValue: median(theirs),
      target: `≥ ${least} ×`,
      pass: (_, ratio) => ratio >= least,
    }),
  );
  const agents = figure({
    name: 'GET /projects/:id, time of a request of an agent',
    value: 1_000_000 / median(byAgent),
    unit: 'us',
    reference: 'of an API key',
    referenceValue: 1_000_000 / median(cases[0]?.ours ?? []),
    target: '≤ 1.1 ×',
    pass: (_, ratio) => ratio <= 1.1,
  });
  return [...figures, agents];
}

/** Answers a second; each must be 200. */
async function rate(url: string, headers: Record<string, string> = {}): Promise<number> {
  const { perSecond, statuses } = await applyLoad({ ...load, url, headers });
  if (statuses.size !== 1 || !statuses.has(200))
    throw new Error(`not every answer is 200: ${JSON.stringify([...statuses])}`);
  return perSecond;
}
