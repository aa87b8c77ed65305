/**
 * The whole server, put together: database, first start, queue, dispatch, workers, gateway, door. Each part that has a lifetime
 * pushes how it is stopped; stopping runs that list backwards, so that nothing is taken away from under its users. A start that
 * fails in the middle stops what it had started.
 */
import type { App, Gate } from '@svc/proto/http/call.ts';
import type { Client } from '@svc/proto/http/implement.ts';
import type { RpcInfo } from '@svc/proto/http/rpc.ts';
import type { DispatchService } from '@svc/proto/gen/svc/dispatch/v1/dispatch_pb.ts';
import { boundUrl, boundUrls } from '@svc/proto/process/bound.ts';
import { createLocalQueue } from '@svc/proto/queue/local.ts';
import type { WorkQueue } from '@svc/proto/queue/queue.ts';
import { connectRabbit } from '@svc/proto/queue/rabbit.ts';
import type { Registry } from 'prom-client';
import { createPasswords, purgeSessions } from './access/accounts/index.ts';
import type { PasswordCost } from './access/accounts/index.ts';
import { createApp } from './door/app.ts';
import { createCheckpointFile, createSigner, startCheckpoints } from './delivery/audit/index.ts';
import type { CheckpointFile, Signer } from './delivery/audit/index.ts';
import { createAuthenticator } from './access/auth/index.ts';
import type { Authenticator } from './access/auth/index.ts';
import { bootstrap, noteBaseUrl } from './bootstrap.ts';
import type { Bootstrap } from './bootstrap.ts';
import { createBuildOffers } from './engine/builds/index.ts';
import {
  createCiJobs,
  createVerifyIdToken,
  createWebhookEndpoint,
  purgeCiDeliveries,
  purgeIdTokens,
  startCiHealth,
  startCiTasks,
  startReading,
} from './connect/ci/index.ts';
import type { Config } from './config.ts';
import { purgeNotifications } from './operations/notifications/index.ts';
import { purgeOutbox, startOutbox } from './engine/outbox/index.ts';
import { openDoor } from './door/listen.ts';
import { createMetrics } from './door/pages.ts';
import type { Metrics } from './door/pages.ts';
import { createOfrep, startPlatformFeatures, withFeatureMetrics } from './features/platformfeatures/index.ts';
import type { PlatformFeatures, PlatformFeaturesDeps } from './features/platformfeatures/index.ts';
import { systemClock } from './platform/clock.ts';
import type { Clock } from './platform/clock.ts';
import { createCursors } from './platform/cursor.ts';
import { createCredentialChanges } from './platform/credential-changes.ts';
import { startEmbeddedPostgres } from './platform/db/embedded.ts';
import { migrate, openDatabase, prepareWorkRole } from './platform/db/index.ts';
import type { Database } from './platform/db/index.ts';
import { every } from './platform/every.ts';
import { purgeIdempotencyKeys } from './platform/idempotency.ts';
import type { Logger } from './platform/log.ts';
import { createSafeFetch } from './platform/safe-fetch.ts';
import { createSecrets, loadKek } from './platform/secrets.ts';
import type { Secrets } from './platform/secrets.ts';
import { createImageTargets, createLocalRegistry } from './engine/registries/index.ts';
import { eventEffects } from './features.ts';
import { createEnroll, purgeTokens, startWatch } from './engine/runners/index.ts';
import { createServices } from './services.ts';
import { purgeDeliveries, startDeliveries } from './operations/webhookendpoints/index.ts';
import {
  checkWorkSettings,
  createDispatch,
  createHints,
  createNonceStore,
  createWake,
  defaultWorkSettings,
  inProcessDispatch,
  rerouteStrays,
  startDispatchGrpc,
  startLogRetention,
  startNonceRotation,
  startRelay,
  startSweeper,
} from './engine/work/index.ts';
import type { Wake, WorkSettings } from './engine/work/index.ts';

export interface RunningServer {
  readonly port: number;
  readonly baseUrl: string;
  /** Of the internal gRPC, when it is served. */
  readonly internalPort: number | undefined;
  /** Only of the very first start. */
  readonly firstStart: Bootstrap | undefined;
  readonly db: Database;
  stop(): Promise<void>;
}

/** The gateway's start function: the server does not import the gateway, whoever starts all in one brings it. */
export type StartGateway = (options: {
  readonly dispatch: Client<typeof DispatchService>;
  readonly queue: WorkQueue;
  readonly publicUrls: () => readonly string[];
  readonly log: Logger;
  readonly gate: (rpc: RpcInfo) => Gate;
  readonly onGateChange: (listener: () => void) => () => void;
  readonly trustedProxies: readonly string[];
  readonly registry: Registry;
}) => { readonly app: object; stop(graceMs: number): Promise<void> };

export interface SystemOptions {
  readonly log: Logger;
  readonly startGateway: StartGateway;
  /** Tests move it by hand. */
  readonly clock?: Clock;
  /** Tests use a cheap one. */
  readonly passwordCost?: PasswordCost;
}

const FLUSH_EVERY_MS = 5_000;
const STRAYS_EVERY_MS = 30_000;
const PURGE_EVERY_MS = 60 * 60_000;

/** What is stopped at the end, last one first. */
type Stops = Array<() => Promise<unknown>>;

export async function startSystem(config: Config, options: SystemOptions): Promise<RunningServer> {
  const stops: Stops = [];
  const stop = once(async () => {
    for (const each of stops.toReversed())
      await each().catch((error: unknown) => options.log.error({ err: error }, 'a part did not stop well'));
  });
  try {
    return { ...(await assemble(config, options, stops)), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function assemble(
  config: Config,
  options: SystemOptions,
  stops: Stops,
): Promise<Omit<RunningServer, 'stop'>> {
  const { log, clock = systemClock } = options;
  const onError = (error: unknown): void =>
    log.warn({ err: error }, 'background work failed; it is tried again');
  const db = await openStore(config, log, onError, stops);
  const secrets = createSecrets(loadKek(config.secretsKey, config.dataDir));
  const passwords = createPasswords(options.passwordCost);
  const urlAt = (port: number): string => boundUrl(config.host, port);
  let port = config.port;
  const publicUrls = (): readonly string[] => config.publicUrls ?? boundUrls(config.host, port);
  const publicUrl = (): string => publicUrls()[0] ?? urlAt(port);
  const firstStart = await bootstrap({
    db,
    clock,
    secrets,
    passwords,
    dataDir: config.dataDir,
    baseUrl: urlAt(config.port),
  });

  const queue =
    config.amqpUrl === undefined
      ? createLocalQueue(log)
      : connectRabbit({ url: config.amqpUrl, role: roleAtBroker(config), log });
  stops.push(async () => await queue.close());
  const hints = createHints({ queue, onError });
  const settings = workSettings(config);
  const wake = createWake();
  const checkpoints = createCheckpointFile(config.dataDir);
  const checkpointSigner = createSigner(secrets);
  const wakes = startWorkers(
    { config, db, queue, settings, clock, secrets, checkpoints, checkpointSigner, publicUrl, onError, wake },
    stops,
  );
  const work = { queue, hints, settings, clock, secrets, wake, wakeRelay: wakes.relay, onError };
  const features = await startFeatures(config, { db, clock, secrets, onError }, stops);
  const enroll = createEnroll({ db, clock, settings, runnersPerTeamMax: config.limits.runnersPerTeamMax });
  const targets = createImageTargets({ ...config, sql: db.sql, secrets });
  const local = createLocalRegistry({ sql: db.sql, clock, secrets, dataDir: config.dataDir });
  const buildOffer = createBuildOffers({ ...config, ...local, sql: db.sql, secrets, targets });
  const nonces = createNonceStore(db.sql);
  const dispatch = createDispatch({ ...work, db, features, nonces, enroll, buildOffer });

  const changes = createCredentialChanges();
  stops.push(await changes.start(db));
  const metrics = withFeatureMetrics(createMetrics(queue), features);
  const verifyIdToken = idTokenVerifier({ config, clock, publicUrl, onError });
  const authenticator = createAuthenticator({
    db,
    clock,
    secrets,
    changes,
    sessions: config.sessions,
    ciJobs: createCiJobs({ db, clock, verify: verifyIdToken }),
    isOwnOrigin: (origin) => publicUrls().some((url) => new URL(url).origin === origin),
  });
  keepFlushing(authenticator, onError, stops);

  const handlers = createServices({
    ...work,
    wakeReading: wakes.reading,
    config,
    passwords,
    changes,
    features,
    checkpoints,
    checkpointSigner,
    configured: configuredNames(config),
    publicUrl,
    verifyIdToken,
  });
  const ready = { db, clock, cursors: createCursors(secrets), authenticator, changes, handlers };
  const app = createApp({ ...config, ...ready, gate: features.gate });
  const apps: Array<App<unknown>> = config.roles.api ? [app as App<unknown>] : [];
  const internalPort = await openInternal(config, dispatch, onError, stops);
  const inside = { config, dispatch, queue, publicUrls, log, gate: app.gate, features, metrics };
  apps.push(...openGateway(options.startGateway, inside, stops));
  const ofOthers = {
    ...createOfrep({ admit: app.admit, snapshot: features.snapshot }),
    ...createWebhookEndpoint({ db, clock, secrets, gate: features.gate, onStored: wakes.reading }),
    ...local.endpoints,
  };
  const endpoints = config.roles.api ? ofOthers : {};
  const { gate } = features;
  const door = await openDoor({ config, log, db, clock, apps, metrics, secrets, gate, endpoints });
  ({ port } = door);
  // Before the gateway in the list's order: the held polls are answered first, then the door closes.
  stops.splice(stops.length - (hasGateway(config) ? 1 : 0), 0, door.close);
  stops.push(async () => door.announceStop());
  noteBaseUrl(config.dataDir, urlAt(port));
  return {
    port,
    baseUrl: urlAt(port),
    internalPort,
    db,
    firstStart: firstStart && { ...firstStart, baseUrl: urlAt(port) },
  };
}

function idTokenVerifier({
  config,
  clock,
  publicUrl,
  onError,
}: Pick<WorkerDeps, 'config' | 'clock' | 'publicUrl' | 'onError'>) {
  return createVerifyIdToken({
    clock,
    issuers: config.oidcIssuers,
    allowPrivate: config.webhooksAllowPrivate,
    audience: () => config.oidcAudience ?? publicUrl().replace(/\/+$/, ''),
    onError,
  });
}

function keepFlushing({ flush }: Authenticator, onError: (error: unknown) => void, stops: Stops): void {
  const flushing = every(FLUSH_EVERY_MS, flush, onError);
  stops.push(async () => {
    await flushing.stop();
    await flush();
  });
}

async function startFeatures(
  config: Config,
  deps: Pick<PlatformFeaturesDeps, 'db' | 'clock' | 'secrets' | 'onError'>,
  stops: Stops,
): Promise<PlatformFeatures> {
  const features = await startPlatformFeatures({
    ...deps,
    variables: { RUNNERS_ENABLED: config.runnersEnabled, JOB_RUNNER_ENABLED: config.jobRunnerEnabled },
    worker: config.roles.worker,
    companionUrl: config.companionUrl,
  });
  stops.push(features.stop);
  return features;
}

interface InsideDeps {
  readonly config: Config;
  readonly dispatch: ReturnType<typeof createDispatch>;
  readonly queue: WorkQueue;
  readonly publicUrls: () => readonly string[];
  readonly log: Logger;
  readonly gate: (rpc: RpcInfo) => Gate;
  readonly features: PlatformFeatures;
  readonly metrics: Metrics;
}

/** The gateway's app, when it lives in this process. */
function openGateway(
  start: StartGateway,
  { config, dispatch, features, metrics, ...rest }: InsideDeps,
  stops: Stops,
): ReadonlyArray<App<unknown>> {
  if (!hasGateway(config)) return [];
  const gateway = start({
    ...rest,
    dispatch: inProcessDispatch(dispatch),
    onGateChange: features.onChange,
    trustedProxies: config.trustedProxies,
    registry: metrics.registry,
  });
  stops.push(async () => await gateway.stop(config.stopGraceMs));
  return [gateway.app as App<unknown>];
}

const hasGateway = ({ roles, mode }: Config): boolean => roles.api && mode === 'all-in-one';

/** The internal gRPC port for gateways, when it is served. */
async function openInternal(
  config: Config,
  dispatch: ReturnType<typeof createDispatch>,
  onError: (error: unknown) => void,
  stops: Stops,
): Promise<number | undefined> {
  if (!config.roles.api || config.internalToken === undefined) return undefined;
  const grpc = await startDispatchGrpc({
    port: config.internalPort,
    host: config.internalHost,
    handlers: dispatch,
    token: config.internalToken,
    onError,
  });
  stops.push(async () => await grpc.stop(config.stopGraceMs));
  return grpc.port;
}

async function openStore(
  config: Config,
  log: Logger,
  onError: (error: unknown) => void,
  stops: Stops,
): Promise<Database> {
  let url = config.databaseUrl;
  if (url === undefined) {
    const embedded = await startEmbeddedPostgres(config.dataDir);
    stops.push(embedded.stop);
    url = embedded.url;
  }
  const role = await settleTables(url, log);
  const db = openDatabase({ url, role, max: config.databaseConnections, name: 'svc-server', onError });
  stops.push(async () => await db.close(config.stopGraceMs));
  return db;
}

/** As their owner. Returns the role that the server works under from then on. */
async function settleTables(url: string, log: Logger): Promise<string | undefined> {
  const owner = openDatabase({ url, max: 1, name: 'svc-migrate' });
  try {
    await migrate(owner);
    const { role, problem } = await prepareWorkRole(owner);
    if (problem !== undefined) log.warn(problem);
    return role;
  } finally {
    await owner.close(1_000);
  }
}

interface WorkerDeps {
  readonly config: Config;
  readonly db: Database;
  readonly queue: WorkQueue;
  readonly settings: WorkSettings;
  readonly clock: Clock;
  readonly secrets: Secrets;
  readonly checkpoints: CheckpointFile;
  readonly checkpointSigner: Signer;
  readonly publicUrl: () => string;
  readonly wake: Wake;
  onError(error: unknown): void;
}

/** How work that waits is told to this process's own workers. */
interface Wakes {
  relay(): void;
  /** Webhooks of CI systems wait to be read. */
  reading(): void;
}

/** Relay, sweeper and housekeeping; any number of servers may run them. */
function startWorkers(
  { config, db, queue, settings, clock, secrets, publicUrl, wake, onError, ...audit }: WorkerDeps,
  stops: Stops,
): Wakes {
  // Those of another process look every second.
  if (!config.roles.worker) return { relay: () => undefined, reading: () => undefined };
  const allowPrivate = config.webhooksAllowPrivate;
  const fetch = createSafeFetch({ allowPrivate });
  const relay = startRelay({ sql: db.sql, queue, settings, onError });
  const reading = startReading({ db, clock, onError });
  const onSwept = (items: ReadonlyArray<{ readonly id: string }>): void => {
    relay.wake();
    for (const { id } of items) wake.notify(id);
  };
  const purge = async (): Promise<void> => {
    await purgeIdempotencyKeys(db.sql, clock);
    await purgeSessions(db, clock, config.sessions);
    await purgeTokens(db.sql);
    await purgeIdTokens(db.sql, clock);
    for (const purgeOld of [purgeNotifications, purgeDeliveries, purgeCiDeliveries, purgeOutbox])
      await purgeOld(db.sql, clock.now().getTime());
  };
  const jobs = [
    relay,
    reading,
    startSweeper({ sql: db.sql, settings, onSwept, onError }),
    startWatch({ sql: db.sql, settings, onError }),
    startOutbox({ sql: db.sql, effects: eventEffects, onError }),
    startDeliveries({ sql: db.sql, secrets, fetch, onError }),
    startNonceRotation(db.sql, onError),
    startCiHealth({ db, clock, onError }),
    startCiTasks({ db, clock, secrets, fetch, publicUrl, allowPrivate, onError }),
    startLogRetention(db.sql, config.logRetentionDays, onError),
    every(STRAYS_EVERY_MS, async () => await rerouteStrays(db.sql), onError),
    every(PURGE_EVERY_MS, purge, onError),
    startCheckpoints(
      { sql: db.sql, clock, signer: audit.checkpointSigner, file: audit.checkpoints },
      onError,
    ),
  ];
  stops.push(async () => await Promise.all(jobs.map(async (job) => await job.stop())));
  return { relay: relay.wake, reading: reading.wake };
}

function workSettings(config: Config): WorkSettings {
  return checkWorkSettings({
    ...defaultWorkSettings,
    ...config.dispatch,
    strikesMax: config.strikesMax,
    queuedMax: config.limits.queuedRunsPerTeamMax,
    feedServicePool: config.jobRunnerEnabled,
    minVersion: config.minVersion,
    recommendedVersion: config.recommendedVersion,
  });
}

function roleAtBroker(config: Config): 'server' | 'all' {
  return config.mode === 'split' ? 'server' : 'all';
}

/** Shown in diagnoses as set or not set, never with a value. */
function configuredNames(config: Config): Readonly<Record<string, boolean>> {
  return {
    RUNNERS_ENABLED: config.runnersEnabled,
    JOB_RUNNER_ENABLED: config.jobRunnerEnabled,
    AMQP_URL: config.amqpUrl !== undefined,
    DATABASE_URL: config.databaseUrl !== undefined,
    PUBLIC_URLS: config.publicUrls !== undefined,
  };
}

function once<T>(work: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined;
  return () => (result ??= work());
}
