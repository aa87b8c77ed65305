/**
 * This benchmark measures the timeline of one environment with a short history and with a long one: the same
 * page is read at 10,000 and at 1,000,000 runs of the same database, one environment each, in alternating
 * reads. Pages are the newest, and those behind random places in the history.
 */
import { performance } from 'node:perf_hooks';
import { createSvcSDK } from '@svc/sdk';
import postgres from 'postgres';
import { systemScope } from '../../server/kit/authorise.ts';
import { openDatabase } from '../../server/base/db/index.ts';
import { readTimeline } from '../../server/connect/timeline/store.ts';
import { figure, percentile, type Figure } from './figure.ts';
import { startTestServer } from '../setup/server.ts';

const SHORT = 10_000;
const LONG = 1_000_000;
const READS = 1_500;
const WARM_UP = 200;
const PAGE = 51;
const NEWEST = Date.UTC(2026, 0, 1);

/** A run a second, so that the histories differ in length and in nothing else. */
async function fill(
  sql: postgres.Sql,
  environmentId: string,
  { runs, mark }: { readonly runs: number; readonly mark: string },
): Promise<void> {
  await sql`
    insert into ci_runs (id, team_id, connection_id, pipeline_id, external_run_id, external_attempt, environment_id, state, status,
      commit_sha, branch, occurred_at, heard_at, created_at, updated_at)
    select 'cir_' || ${mark}::text || lpad(n::text, 25, '0'), p.team_id, p.connection_id, p.id, ${mark}::text || n, 1, ${environmentId}, '{}',
      'success', md5((n / 3)::text) || '00000000', 'main', at, at, at, at
    from ci_pipelines p, generate_series(1, ${runs}::int) n,
      lateral (select ${new Date(NEWEST)}::timestamptz - n * interval '1 second' as at) t`;
}

export async function run(): Promise<Figure[]> {
  const server = await startTestServer();
  const owner = postgres(server.databaseUrl, { max: 1, onnotice: () => undefined });
  const db = openDatabase({ url: server.databaseUrl, max: 2 });
  try {
    const { teamId, apiKey } = server.first;
    const scope = systemScope(teamId);
    const sdk = createSvcSDK({ baseUrl: server.baseUrl, apiKey });
    const project = await sdk.projects.create({ name: 'bench', teamId });
    const short = await sdk.environments.create(project.id, { name: 'short' });
    const long = await sdk.environments.create(project.id, { name: 'long' });
    const repository = { repositoryHost: 'github.com', repositoryPath: 'acme/bench' };
    const connection = await sdk.ci.createConnection(teamId, { provider: 'github', ...repository });
    await owner`
      insert into ci_pipelines (id, team_id, connection_id, name, created_at)
      values ('cip_00000000000000000000000000', ${teamId}, ${connection.id}, 'bench', now())`;
    // References are not checked: they are right, and a million checks take longer than the rest.
    await owner`set session_replication_role = replica`;
    await owner`set synchronous_commit = off`;
    await fill(owner, short.id, { runs: SHORT, mark: 'a' });
    await fill(owner, long.id, { runs: LONG, mark: 'b' });
    await owner`analyze ci_runs`;

    const times = new Map<string, number[]>([
      [short.id, []],
      [long.id, []],
    ]);
    for (let n = 0; n < READS + WARM_UP; n += 1) {
      for (const [environmentId, runs] of [
        [short.id, SHORT],
        [long.id, LONG],
      ] as const) {
        const at = new Date(NEWEST - Math.floor(Math.random() * (runs - PAGE)) * 1_000);
        const before = n % 2 === 0 ? undefined : { at, id: '' };
        const began = performance.now();
        const page = await readTimeline(db, scope, { environmentId, before, take: PAGE, withRuns: true });
        const ms = performance.now() - began;
        if (page.length !== PAGE) throw new Error(`a page holds ${page.length} entries, expected ${PAGE}`);
        if (n >= WARM_UP) times.get(environmentId)?.push(ms);
      }
    }
    const p95 = (id: string) => percentile(times.get(id) ?? [], 0.95);
    return [
      figure({
        name: 'timeline of 1,000,000 runs, p95 of a page',
        value: p95(long.id),
        unit: 'ms',
        reference: 'of 10,000 runs',
        referenceValue: p95(short.id),
        target: '≤ 1.5 ×',
        pass: (_, ratio) => ratio <= 1.5,
      }),
    ];
  } finally {
    await db.close();
    await owner.end();
    await server.stop();
  }
}
