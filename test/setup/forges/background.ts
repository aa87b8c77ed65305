/** A server whose background work is done by the test, and connections of it to hosts on loopback. */
import { afterAll, afterEach, beforeAll } from 'vitest';
import { createSafeFetch } from '../../../server/base/safe-fetch.ts';
import { createSecrets, loadKek } from '../../../server/base/secrets.ts';
import { commitStatusJob, wantCommitStatus } from '../../../server/connect/commitstatus/handler.ts';
import {
  subscribeJob,
  unsubscribeJob,
  type SubscriptionDeps,
} from '../../../server/connect/connections/webhook/subscribe.ts';
import { listJob, planJob, type RepositoryDeps } from '../../../server/apps/repositories/jobs.ts';
import { resyncJob } from '../../../server/apps/templates/resync.ts';
import { discoverJob } from '../../../server/connect/discovery/handler.ts';
import { pollJob } from '../../../server/connect/runs/health.ts';
import { createWorker, type JobKind } from '../../../server/kit/jobs/index.ts';
import { systemClock, type Clock } from '../../../server/base/clock.ts';
import { startTestServer, type TestResponse, type TestServer } from '../server.ts';
import { startFakeForge, type FakeForge, type Route } from './fake-forge.ts';

export type Background = Awaited<ReturnType<typeof startBackground>>;

export interface WantedConnection {
  readonly provider: string;
  readonly host: string;
  readonly path: string;
  readonly token?: string;
  readonly apiUrl?: string;
  readonly forge?: string;
  readonly ingestMode?: string;
}

/** Address at which hosts would reach the service. */
export const PUBLIC_URL = 'https://svc.example.com';

/** Requests to repositories' hosts that are made in the background. */
function ciJobKinds(deps: SubscriptionDeps & Pick<RepositoryDeps, 'secrets'>): readonly JobKind[] {
  const poll = pollJob({ ...deps, follow: wantCommitStatus });
  const ofHooks = [subscribeJob(deps), unsubscribeJob(deps)];
  return [
    discoverJob(deps),
    ...ofHooks,
    commitStatusJob(deps),
    poll,
    planJob(deps),
    listJob(deps),
    resyncJob(deps),
  ];
}

/** One for the tests of a file, whose fields are there once the hooks before the tests have run. */
export function ownBackground(options?: BackgroundOptions): Background {
  const background = {} as Background;
  beforeAll(async () => void Object.assign(background, await startBackground(options)));
  afterEach(async () => await background.clean());
  afterAll(async () => await background.server?.stop());
  return background;
}

export interface BackgroundOptions {
  /** The server itself goes by the clock that `later` moves. Default: by the real one. */
  readonly hasOneClock?: boolean;
  /** The server is known by its own address alone, which runners sign. Default: by `PUBLIC_URL`. */
  readonly takesRunners?: boolean;
}

export async function startBackground({ hasOneClock = false, takesRunners = false }: BackgroundOptions = {}) {
  const env = {
    SVC_ROLES: 'api',
    WEBHOOKS_ALLOW_PRIVATE: 'true',
    ...(!takesRunners && { PUBLIC_URLS: PUBLIC_URL }),
  };
  let aheadMs = 0;
  const clock: Clock = { ...systemClock, now: () => new Date(Date.now() + aheadMs) };
  const server = await startTestServer({ env, ...(hasOneClock && { clock }) });
  const { db, dataDir } = server;
  const errors: unknown[] = [];
  const forges: FakeForge[] = [];
  const secrets = createSecrets(loadKek(undefined, dataDir));
  const fetch = createSafeFetch({ allowPrivate: true });
  const deps = { db, clock, secrets, fetch, publicUrl: () => PUBLIC_URL, allowPrivate: true };
  // Those that read files start threads, and keep them for the next file.
  const kinds = ciJobKinds(deps);
  const onError = (error: unknown): void => void errors.push(error);
  const { signal } = new AbortController();
  /** Time by which jobs are behind the clock. */
  let behindMs = 0;
  const catchUp = async (): Promise<void> => {
    const ms = behindMs;
    behindMs = 0;
    await db.sql`update jobs set due_at = due_at - ${ms}::float8 * interval '1 millisecond'`;
  };
  return {
    server,
    /** It is moved by `later`. */
    clock,
    secrets,
    kind: (name: string): JobKind => {
      const kind = kinds.find((each) => each.kind === name);
      if (kind === undefined) throw new Error(`there are no jobs of kind ${name}`);
      return kind;
    },
    later: (ms: number): void => {
      aheadMs += ms;
      behindMs += ms;
    },
    /**
     * Does what is due and what becomes due by that, until nothing is. `others` stand in place of
     * dependencies of this world.
     */
    work: async (others?: Partial<Omit<SubscriptionDeps, 'secrets'>>): Promise<void> => {
      await catchUp();
      const ours = others === undefined ? kinds : ciJobKinds({ ...deps, ...others });
      const worker = createWorker({ db, kinds: ours, onError }, { signal });
      while ((await worker.pass()) > 0) await worker.settled();
    },
    /** Starts a host on loopback, which is there until `clean`. */
    startForge: async (routes: readonly Route[]): Promise<FakeForge> => {
      const forge = await startFakeForge(routes);
      forges.push(forge);
      return forge;
    },
    connect: async (wanted: WantedConnection) => await connect(server, wanted),
    /** Makes a call of the first user. */
    call: async (route: string, body?: unknown): Promise<TestResponse> =>
      await server.call(route, { as: server.first.apiKey, body }),
    /** Nothing is left after each test. Throws what a handler threw that is no answer of a host. */
    clean: async (): Promise<void> => {
      await Promise.all(forges.splice(0).map(async (forge) => await forge.close()));
      await db.sql`delete from ci_connections`;
      await db.sql`delete from repository_sources`;
      await db.sql`delete from repository_refreshes`;
      await db.sql`delete from jobs`;
      if (errors.length > 0) throw new AggregateError(errors.splice(0), 'handlers threw');
    },
  };
}

async function connect(server: TestServer, wanted: WantedConnection): Promise<string> {
  const { provider, host, path, token, apiUrl, forge, ingestMode } = wanted;
  const { apiKey: as, teamId } = server.first;
  const body = { provider, repositoryHost: host, repositoryPath: path, ingestMode };
  const made = await server.call(`POST /teams/${teamId}/ci/connections`, { as, body });
  if (made.status !== 201) throw new Error(`the connection was answered with ${made.status}: ${made.text}`);
  const id = String(made.body['id']);
  if (token === undefined) return id;
  const set = await server.call(`PUT /ci/connections/${id}/token`, { as, body: { token, apiUrl, forge } });
  if (set.status !== 200) throw new Error(`the token was answered with ${set.status}: ${set.text}`);
  return id;
}
