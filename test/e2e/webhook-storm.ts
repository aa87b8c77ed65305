/**
 * Storms of webhooks at a server that may be killed in the middle, and what became of each that it
 * acknowledged.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import postgres from 'postgres';
import type { Bootstrap } from '../../server/bootstrap.ts';
import { freePort } from '../setup/registry.ts';
import { startProgram, type Program } from './processes.ts';
import { waitFor } from '../setup/wait-for.ts';

export interface Storm {
  readonly url: string;
  readonly secret: string;
  readonly repository: string;
  readonly perSecond: number;
  readonly seconds: number;
  /** Number of the first run's id, so that several storms at one connection do not meet. */
  readonly from: number;
}

export interface StormSummary {
  readonly sent: number;
  /** Answered with 202. */
  readonly accepted: number;
  /** Lost their connection before an answer. */
  readonly cut: number;
  readonly statuses: Readonly<Record<string, number>>;
  readonly tookMs: number;
  readonly meanBytes: number;
  /** Milliseconds from the moment at which a delivery was due. */
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  readonly acknowledged: readonly string[];
}

const CONNECTIONS = 100;

/** `meanwhile` begins with the storm. */
export async function storm(request: Storm, meanwhile?: () => Promise<void>): Promise<StormSummary> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-storm-'));
  const acknowledged = join(folder, 'acknowledged');
  const options = JSON.stringify({ ...request, connections: CONNECTIONS, acknowledged });
  const sender = startProgram('test/e2e/webhook-sender.mjs', [options]);
  try {
    await sender.says(/begins/, 60_000);
    await meanwhile?.();
    const [, text = ''] = await sender.says(/summary (.*)/, request.seconds * 1_000 + 120_000);
    const known = (await readFile(acknowledged, 'utf8')).split('\n').filter((line) => line !== '');
    return { ...(JSON.parse(text) as Omit<StormSummary, 'acknowledged'>), acknowledged: known };
  } finally {
    await sender.stop('SIGKILL');
    await rm(folder, { recursive: true, force: true });
  }
}

/** Starts the server as a process at one port, which it has again after a restart. */
export async function startKillable(databaseUrl: string) {
  const folder = await mkdtemp(join(tmpdir(), 'svc-storm-'));
  const port = await freePort();
  const env = { PORT: String(port), DATABASE_URL: databaseUrl, DATA_DIR: folder, LOG_LEVEL: 'warn' };
  let server: Program;
  const start = async (): Promise<void> => {
    server = startProgram('server/dist/main.js', [], env);
    await server.says(/listening on/, 60_000);
  };
  await start();
  const bootstrap = JSON.parse(await readFile(join(folder, 'bootstrap.json'), 'utf8')) as Bootstrap;
  return {
    url: `http://127.0.0.1:${port}`,
    bootstrap,
    kill: async () => void (await server.stop('SIGKILL')),
    restart: start,
    async [Symbol.asyncDispose](): Promise<void> {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Connects a GitHub repository, and makes the secret of its webhook. */
export async function connectGithub(
  { url, bootstrap }: { readonly url: string; readonly bootstrap: Bootstrap },
  repository: string,
): Promise<{ readonly connectionId: string; readonly url: string; readonly secret: string }> {
  const post = async (path: string, body: object): Promise<Record<string, unknown>> => {
    const headers = { authorization: `Bearer ${bootstrap.apiKey}`, 'content-type': 'application/json' };
    const response = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
    return (await response.json()) as Record<string, unknown>;
  };
  const connection = await post(`/teams/${bootstrap.teamId}/ci/connections`, {
    provider: 'github',
    repositoryHost: 'github.com',
    repositoryPath: repository,
    ingestMode: 'webhook',
  });
  const connectionId = String(connection['id']);
  const rotated = await post(`/ci/connections/${connectionId}/webhook/rotate-secret`, {});
  return { connectionId, url: String(rotated['url']), secret: String(rotated['secret']) };
}

/** Waits until nothing is to be read, then looks at every delivery that was acknowledged. */
export async function outcomeOf(
  databaseUrl: string,
  connectionId: string,
  { acknowledged, withinMs }: { readonly acknowledged: readonly string[]; readonly withinMs: number },
) {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => undefined });
  const startedAt = performance.now();
  try {
    await waitFor(
      'deliveries to be read',
      async () => {
        const [row] = await sql`select count(*)::int as n from ci_deliveries where due_at is not null`;
        return row?.['n'] === 0;
      },
      { withinMs: withinMs },
    );
    const drainedMs = performance.now() - startedAt;
    const rows =
      await sql`select delivery_id, state from ci_deliveries where connection_id = ${connectionId}`;
    const states = new Map(rows.map((row) => [String(row['delivery_id']), String(row['state'])]));
    const runs = await sql`select external_run_id, status from ci_runs where connection_id = ${connectionId}`;
    const statuses = new Map(runs.map((row) => [String(row['external_run_id']), String(row['status'])]));
    const ended = acknowledged.filter((id) => id.endsWith('9')).map(runOf);
    return {
      /** They are acknowledged, and not there. */
      lost: acknowledged.filter((id) => !states.has(id)),
      /** They are there, and not processed. */
      unread: acknowledged.filter((id) => states.has(id) && states.get(id) !== 'processed'),
      /** Runs whose end was acknowledged, and that have not ended. */
      open: ended.filter((run) => statuses.get(run) !== 'success'),
      /** Time from the call until nothing waited. */
      drainedMs,
    };
  } finally {
    await sql.end();
  }
}

/**
 * Returns the run that a delivery `<from>-<n>` is of. Ten events belong to a run, and the last one is its
 * end.
 */
function runOf(deliveryId: string): string {
  const [from, n] = deliveryId.split('-').map(Number);
  return String((from ?? 0) + Math.floor((n ?? 0) / 10));
}
