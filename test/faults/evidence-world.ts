/**
 * Two servers as processes of their own over one database, with their keys in a Vault that counts what it signs: for stories in which a server is killed, or is late, or has a wrong clock, while
 * it records evidence. A lock that the story holds stops a server at the place that it is about.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSvcSDK } from '@svc/sdk';
import type { SvcSDK } from '@svc/sdk';
import postgres from 'postgres';
import { IMAGE, scriptedRunner } from '../setup/builds/scripted-runner.ts';
import type { Offer, ScriptedRunner } from '../setup/builds/scripted-runner.ts';
import { createEmptyDatabase } from '../setup/database.ts';
import { startVault } from '../setup/vault/vault.ts';
import type { TestVault } from '../setup/vault/vault.ts';
import { waitFor } from '../setup/wait-for.ts';
import { writePreloads } from './bundles.ts';
import { clockFile } from './clock.ts';
import { freePorts } from './free-ports.ts';
import { manageNode } from './managed-process.ts';
import type { ManagedProcess } from './managed-process.ts';

export interface EvidenceServer {
  readonly process: ManagedProcess;
  /** Of the owner of the team. */
  readonly sdk: SvcSDK;
  /** Its clock is so much ahead from now on. */
  stepClock(byMs: number): Promise<void>;
}

export interface EvidenceWorld {
  /** The one that the runner speaks to. */
  readonly one: EvidenceServer;
  readonly other: EvidenceServer;
  /** Of the other one. */
  readonly staff: SvcSDK;
  readonly sql: postgres.Sql;
  readonly vault: TestVault;
  readonly runner: ScriptedRunner;
  readonly teamId: string;
  readonly projectId: string;
  environment(more?: { readonly deploy?: { readonly kind: 'container' } }): Promise<string>;
  /** A build that the runner has been given. */
  submitted(environmentId: string, by: SvcSDK): Promise<{ readonly buildId: string; readonly offer: Offer }>;
  /** Holds a lock until it is called. */
  hold(statement: string): Promise<() => Promise<void>>;
  /** So many statements wait for a lock that have this text in their beginning, which is all that the database shows. */
  untilWaiting(text: string, count: number): Promise<void>;
  /** Jobs whose worker is dead, or late, are anybody's at once and not after a minute. */
  loseJobs(): Promise<void>;
  /** Nothing is left to do of the kind. */
  untilDone(kind: string): Promise<void>;
  stop(): Promise<void>;
}

/** Of a clock that was stepped by minutes. */
const NEARLY_MS = 30_000;
const REPOSITORY = 'https://git.example.com/acme/web';
const SERVER = new URL('../../server/dist/main.js', import.meta.url).pathname;
/** Of what two processes on a busy machine may take. */
const WITHIN = { withinMs: 45_000 };

export const imageOf = (digest: string) => ({
  image: IMAGE,
  digest,
  commit: 'c'.repeat(40),
  buildType: 'dockerfile',
});

export async function startEvidenceWorld(): Promise<EvidenceWorld> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-evidence-'));
  const database = await createEmptyDatabase();
  const vault = await startVault();
  const ports = await freePorts(2);
  const urls = ports.map((port) => `http://127.0.0.1:${port}`);
  const preloads = writePreloads(folder);
  const env = {
    HOST: '127.0.0.1',
    PUBLIC_URLS: urls.join(','),
    SECRETS_KEY: randomBytes(32).toString('base64'),
    DATABASE_URL: database.url,
    VAULT_ADDR: vault.address,
    VAULT_TOKEN: vault.token,
    LOG_LEVEL: 'warn',
    SWEEP_EVERY_MS: '100',
    LEASE_MS: '3600000',
    OFFER_MS: '3600000',
    LIMIT_REQUESTS_PER_MINUTE: '1000000',
  };
  const processes = ports.map((port, n) =>
    manageNode(preloads, folder, {
      name: `server-${n}`,
      script: SERVER,
      readyPattern: /listening on/,
      env: { ...env, PORT: String(port), DATA_DIR: join(folder, `data-${n}`) },
    }),
  );
  const sql = postgres(database.url, { max: 6, onnotice: () => undefined });
  const stop = async (): Promise<void> => {
    await Promise.all(processes.map(async (each) => await each.kill()));
    await Promise.all([vault.stop(), sql.end({ timeout: 1 })]);
    await database.drop();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    for (const each of processes) await each.start(); // The first one migrates and makes the accounts.
    const bootstrap = readFileSync(join(folder, 'data-0', 'bootstrap.json'), 'utf8');
    const { apiKey, staffApiKey } = JSON.parse(bootstrap) as Record<'apiKey' | 'staffApiKey', string>;
    const sdkAt = (n: number, key: string): SvcSDK =>
      createSvcSDK({ baseUrl: urls[n] ?? '', apiKey: key, timeoutMs: 30_000 });
    const people = await peopled(sdkAt(0, apiKey), sdkAt(0, staffApiKey), urls[0] ?? '');
    const [one, other] = processes.map((process, n): EvidenceServer => {
      const sdk = sdkAt(n, apiKey);
      const clock = clockFile(folder, process.name);
      const stepClock = async (byMs: number): Promise<void> => {
        writeFileSync(clock, String(byMs));
        await waitFor(`the clock of ${process.name}`, async () => {
          const { createdAt } = await sdk.projects.create({ name: 'clock', teamId: people.teamId });
          return Math.abs(Date.parse(createdAt ?? '') - Date.now() - byMs) < NEARLY_MS;
        });
      };
      return { process, sdk, stepClock };
    }) as [EvidenceServer, EvidenceServer];
    const staff = sdkAt(1, staffApiKey);
    return { one, other, staff, sql, vault, ...people, ...withLocks(sql), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** A team with a project and a runner. */
async function peopled(
  sdk: SvcSDK,
  staff: SvcSDK,
  url: string,
): Promise<Pick<EvidenceWorld, 'teamId' | 'projectId' | 'runner' | 'environment' | 'submitted'>> {
  const teamId = (await sdk.teams.create('makers')).id;
  const region = (await staff.regions.list()).find(({ operator }) => operator === 'customer');
  await staff.adminTeams.setRegion(teamId, region?.id ?? '');
  const projectId = (await sdk.projects.create({ name: 'web', teamId })).id;
  const { token } = await sdk.runners.createEnrollToken(teamId);
  const runner = await scriptedRunner(url, token);
  let names = 0;
  return {
    teamId,
    projectId,
    runner,
    environment: async (more = {}) => {
      const params = { name: `e${(names += 1)}`, repository: REPOSITORY, ...more };
      return (await sdk.environments.create(projectId, params)).id;
    },
    submitted: async (environmentId, by) => {
      const { id: buildId } = await by.builds.create(environmentId);
      return { buildId, offer: await runner.take() };
    },
  };
}

function withLocks(
  sql: postgres.Sql,
): Pick<EvidenceWorld, 'hold' | 'untilWaiting' | 'loseJobs' | 'untilDone'> {
  return {
    hold: async (statement) => {
      const connection = await sql.reserve();
      await connection.unsafe('begin');
      await connection.unsafe(statement);
      return async () => {
        await connection.unsafe('commit');
        connection.release();
      };
    },
    untilWaiting: async (text, count) => {
      const waiting = async () =>
        await sql<Array<{ pid: number }>>`
          select pid from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock' and position(${text} in query) > 0`;
      await waitFor(`${count} statements that wait with "${text}"`, waiting, {
        ...WITHIN,
        holds: (some) => some.length >= count,
      });
    },
    loseJobs: async () => void (await sql`update jobs set due_at = now() where state = 'running'`),
    untilDone: async (kind) =>
      void (await waitFor(
        `the end of all ${kind}`,
        async () => (await sql`select 1 from jobs where kind = ${kind}`).length === 0,
        WITHIN,
      )),
  };
}
