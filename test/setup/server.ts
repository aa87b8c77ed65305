/**
 * Starts the whole server in this process: a fresh database, a free port, the real door, the real gateway.
 * Where a team of one's own is enough, world.ts has one that is shared.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startGateway } from '../../gateway/index.ts';
import type { Bootstrap } from '../../server/bootstrap.ts';
import { readConfig } from '../../server/config.ts';
import type { Clock } from '../../server/base/clock.ts';
import { silentLog, type Logger } from '@svc/proto/process/log.ts';
import { startSystem, type RunningServer } from '../../server/system.ts';
import { asAdmin, createMigratedDatabase } from './database.ts';

export type TestServer = Awaited<ReturnType<typeof startTestServer>>;

export interface CallOptions {
  /** API key or session token; absent: nobody. */
  readonly as?: string | undefined;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface TestResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Parsed; `{}` when the answer has no body. */
  readonly body: Record<string, unknown>;
  /** `error.code` of a refusal. */
  readonly code: string | undefined;
}

export interface TestServerOptions {
  /** Settings as in the environment. */
  readonly env?: Readonly<Record<string, string>>;
  readonly clock?: Clock;
  readonly log?: Logger;
  /** A database that is there already, for a second server. It is not dropped. */
  readonly databaseUrl?: string;
  /** The data folder of the other server, so that both have the same keys. */
  readonly dataDir?: string;
}

const METRICS_TOKEN = 'metrics-token-of-the-tests';
/** Headers of who reads a test server's figures. */
export const FIGURES = { authorization: `Bearer ${METRICS_TOKEN}` };

/** Cheap on purpose: the real cost has its own test. */
export const TEST_PASSWORD_COST = { ln: 10, r: 8, p: 1 };

/**
 * All in one process, as `npm start` does it, from settings as in the environment. Port 0 on loopback unless
 * they say otherwise.
 */
export async function startAllInOne(
  env: Readonly<Record<string, string | undefined>>,
  { log = silentLog, clock }: { readonly log?: Logger; readonly clock?: Clock } = {},
): Promise<RunningServer> {
  // A registry is named, which nobody asks: `auto` would start one for each server.
  const LOCAL_REGISTRY = '127.0.0.1:5000';
  const config = readConfig({
    PORT: '0',
    HOST: '127.0.0.1',
    STOP_GRACE_MS: '2000',
    LOCAL_REGISTRY,
    ...env,
  });
  return await startSystem(config, {
    log,
    startGateway,
    passwordCost: TEST_PASSWORD_COST,
    ...(clock && { clock }),
  });
}

export async function startTestServer(options: TestServerOptions = {}) {
  const own = options.databaseUrl === undefined ? await createMigratedDatabase() : undefined;
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'svc-test-'));
  const databaseUrl = options.databaseUrl ?? own?.url ?? '';
  const env = {
    DATA_DIR: dataDir,
    DATABASE_URL: databaseUrl,
    LIMIT_LOGINS_PER_MINUTE: '1000000',
    METRICS_TOKEN,
    ...options.env,
  };
  const server = await startAllInOne(env, options);
  const first = server.firstStart ?? readFirst(options.databaseUrl);
  return {
    ...server,
    /** The first start made it: a staff account, a team, keys. */
    first,
    dataDir,
    databaseUrl,
    /** Makes a JSON call at a documented path, `POST /projects`. */
    call: async (route: string, call: CallOptions = {}) => await request(server.baseUrl, route, call),
    /** In SQL it acts as the tables' owner and past every right: `db` works under the server's role. */
    asOwner: async (statement: string) => await asAdmin(statement, databaseUrl),
    stop: async (): Promise<void> => {
      await server.stop();
      await own?.drop();
      if (options.dataDir === undefined) rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

function readFirst(databaseUrl: string | undefined): Bootstrap {
  const none = 'no first start here: use the keys of the server that made it';
  if (databaseUrl === undefined) throw new Error(none);
  return { baseUrl: '', staffEmail: '', staffPassword: '', staffApiKey: '', teamId: '', apiKey: '' };
}

export async function request(
  baseUrl: string,
  route: string,
  { as, body, headers }: CallOptions,
): Promise<TestResponse> {
  const [method = 'GET', path = '/'] = route.split(' ');
  const response = await fetch(`${baseUrl}${path}`, {
    method,
    headers: {
      ...(as === undefined ? {} : { authorization: `Bearer ${as}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const parsed = (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>;
  const { error } = parsed as { error?: { code?: string } };
  return { status: response.status, headers: response.headers, text, body: parsed, code: error?.code };
}
