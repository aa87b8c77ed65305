/**
 * Two servers as processes of their own over one database, for stories in which a server is killed in the
 * middle of something. A lock that the story holds stops a server at the place that it is about.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSvcSDK, type SvcSDK } from '@svc/sdk';
import postgres from 'postgres';
import { createMigratedDatabase } from '../setup/database.ts';
import { waitFor } from '../setup/wait-for.ts';
import { writePreloads } from './bundles.ts';
import { freePorts } from './free-ports.ts';
import { manageNode, type ManagedProcess } from './managed-process.ts';

export type TwoServers = Awaited<ReturnType<typeof startTwoServers>>;

const SERVER = new URL('../../server/dist/main.js', import.meta.url).pathname;
/** Two processes on a busy machine may take so long. */
export const WITHIN = { withinMs: 45_000 };

/** Both are started. */
export async function startTwoServers(env: Readonly<Record<string, string>>) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-two-'));
  const database = await createMigratedDatabase();
  const ports = await freePorts(2);
  const urls = ports.map((port) => `http://127.0.0.1:${port}`) as [string, string];
  const preloads = writePreloads(folder);
  const secretsKey = randomBytes(32).toString('base64');
  const processes = ports.map((port, n) =>
    manageNode(preloads, folder, {
      name: `server-${n}`,
      script: SERVER,
      readyPattern: /listening on/,
      env: {
        HOST: '127.0.0.1',
        PORT: String(port),
        PUBLIC_URLS: urls.join(','),
        DATABASE_URL: database.url,
        DATA_DIR: join(folder, `data-${n}`),
        SECRETS_KEY: secretsKey,
        LOCAL_REGISTRY: '127.0.0.1:5000',
        LOG_LEVEL: 'warn',
        LIMIT_REQUESTS_PER_MINUTE: '1000000',
        ...env,
      },
    }),
  ) as [ManagedProcess, ManagedProcess];
  const sql = postgres(database.url, { max: 6, onnotice: () => undefined });
  /** Kills both. */
  const stop = async (): Promise<void> => {
    await Promise.all(processes.map(async (each) => await each.kill()));
    await sql.end({ timeout: 1 });
    await database.drop();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    for (const each of processes) await each.start(); // The first one migrates and makes the accounts.
    const bootstrap = readFileSync(join(folder, 'data-0', 'bootstrap.json'), 'utf8');
    const { apiKey, staffApiKey, staffEmail, staffPassword } = JSON.parse(bootstrap) as Record<
      'apiKey' | 'staffApiKey' | 'staffEmail' | 'staffPassword',
      string
    >;
    const at = (n: 0 | 1, key: string): SvcSDK =>
      createSvcSDK({ baseUrl: urls[n], apiKey: key, timeoutMs: 30_000 });
    return {
      folder,
      databaseUrl: database.url,
      processes,
      urls,
      sql,
      /** It speaks as the owner of the first team. */
      sdkAt: (n: 0 | 1) => at(n, apiKey),
      staffAt: (n: 0 | 1) => at(n, staffApiKey),
      /** It is the same owner, signed in anew. */
      signedInAt: async (n: 0 | 1) =>
        at(n, (await createSvcSDK({ baseUrl: urls[n] }).auth.login(staffEmail, staffPassword)).token),
      /** Holds a lock until it is called. */
      hold: async (statement: string): Promise<() => Promise<void>> => {
        const connection = await sql.reserve();
        await connection.unsafe('begin');
        await connection.unsafe(statement);
        return async () => {
          await connection.unsafe('commit');
          connection.release();
        };
      },
      /**
       * So many statements wait for a lock that have this text in their beginning, which is all that the
       * database shows.
       */
      untilWaiting: async (text: string, count: number): Promise<void> => {
        const waiting = async () =>
          await sql<Array<{ pid: number }>>`
            select pid from pg_stat_activity
            where datname = current_database() and wait_event_type = 'Lock' and position(${text} in query) > 0`;
        await waitFor(`${count} statements that wait with "${text}"`, waiting, {
          ...WITHIN,
          holds: (some) => some.length >= count,
        });
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
