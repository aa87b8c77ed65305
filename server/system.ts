/**
 * The whole server, put together: database, first start, queue, features, dispatch, workers, gateway, door.
 * Each part that has a lifetime pushes how it is stopped; stopping runs that list backwards, so that nothing
 * is taken away from under its users. A start that fails in the middle stops what it had started.
 */
import type { App, RpcGate } from '@svc/proto/http/call.ts';
import type { RpcInfo } from '@svc/proto/http/rpc.ts';
import type { Dispatch } from '@svc/proto/dispatch/dispatch.ts';
import { boundUrl, boundUrls } from '@svc/proto/process/bound.ts';
import { createLocalQueue } from '@svc/proto/queue/local.ts';
import type { WorkQueue } from '@svc/proto/queue/queue.ts';
import { connectRabbit } from '@svc/proto/queue/rabbit.ts';
import type { Registry } from 'prom-client';
import { authFeature } from './access/auth/index.ts';
import { bootstrap, noteBaseUrl, type Bootstrap } from './bootstrap.ts';
import type { Config } from './config.ts';
import { createApp } from './door/app.ts';
import { createPublicDoor } from './door/listen.ts';
import { createMetrics } from './door/pages.ts';
import { registriesFeature } from './engine/registries/index.ts';
import { startDispatchGrpc, workFeature } from './engine/work/index.ts';
import { systemClock, type Clock } from './base/clock.ts';
import { createCredentialChanges } from './kit/credential-changes.ts';
import { createCursors } from './kit/cursor.ts';
import { prepareDataDir } from './base/data-folder.ts';
import { startEmbeddedPostgres } from './base/db/embedded.ts';
import {
  addressOf,
  assertOneDatabase,
  assertSession,
  diskFull,
  installationOf,
  migrate,
  openDatabase,
  prepareWorkRole,
  STATEMENT_TIMEOUT_MS,
  watchSynchrony,
  WORK_ROLE,
  type Database,
} from './base/db/index.ts';
import type { Feature } from './kit/feature.ts';
import { createPasswords, type PasswordCost } from './base/password.ts';
import { startFeatures, type Started, type Unported } from './start-features.ts';
import { switchesFeature } from './switches/index.ts';
import { purgeParked, startPublishing } from './kit/events/index.ts';
import { purgeIdempotencyKeys } from './kit/idempotency.ts';
import type { Logger } from '@svc/proto/process/log.ts';
import { ConfigError } from '@svc/proto/process/settings.ts';
import { addJobMetrics, purgeJobs, startWorker } from './kit/jobs/index.ts';
import { eachStep, startLoop } from './base/loop.ts';
import { createSafeFetch } from './base/safe-fetch.ts';
import { createMail } from './base/mail/smtp.ts';
import { createSecrets, loadKek } from './base/secrets.ts';

export interface RunningServer {
  readonly port: number;
  readonly baseUrl: string;
  /** Port of the internal gRPC, when it is served. */
  readonly internalPort: number | undefined;
  /**
   * Registry to which images of teams without a registry of their own go; it is empty where they go nowhere.
   */
  readonly localRegistry: string;
  /** Present after the very first start alone. */
  readonly firstStart: Bootstrap | undefined;
  readonly db: Database;
  stop(): Promise<void>;
}

/**
 * The gateway's start function: the server does not import the gateway, whoever starts all in one brings it.
 */
export type StartGateway = (options: {
  readonly dispatch: Dispatch;
  readonly queue: WorkQueue;
  readonly publicUrls: () => readonly string[];
  readonly log: Logger;
  readonly gate: (rpc: RpcInfo) => RpcGate;
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

async function assemble(config: Config, options: SystemOptions, stops: Stops) {
  const { log, clock = systemClock } = options;
  const onError = (error: unknown): void => {
    const full = diskFull(error);
    log.warn(
      { err: error },
      `background work failed${full === undefined ? '' : `: ${full}`}; it is tried again`,
    );
  };
  if (
    config.databaseUrl === undefined ||
    config.secretsKey === undefined ||
    config.metricsToken === undefined
  )
    prepareDataDir(config.dataDir);
  const db = await openStore(config, { log, onError }, stops);
  const secrets = createSecrets(loadKek(config.secretsKey, config.dataDir));
  const passwords = createPasswords(options.passwordCost);
  const urlAt = (port: number): string => boundUrl(config.host, port);
  const { dataDir } = config;
  const firstStart = await bootstrap({ db, clock, secrets, passwords, dataDir, baseUrl: urlAt(config.port) });

  let { port } = config;
  const publicUrls = (): readonly string[] => config.publicUrls ?? boundUrls(config.host, port);
  const queue = openQueue(config, log);
  stops.push(async () => await queue.close());
  const changes = createCredentialChanges();
  stops.push(await changes.start(db));
  const metrics = createMetrics(queue);
  const system: Unported = {
    config,
    db,
    clock,
    secrets,
    queue,
    changes,
    fetch: createSafeFetch({ allowPrivate: config.webhooksAllowPrivate }),
    registry: metrics.registry,
    passwords,
    mail: mailOf(config),
    publicUrl: () => publicUrls()[0] ?? urlAt(port),
    publicUrls,
    warn: (word) => log.warn(word),
    onError,
  };
  stops.push(watchDatabase(system, log));
  const features = await startFeatures(config, system);
  for (const { stop } of features.all) if (stop !== undefined) stops.push(stop);
  if (config.roles.worker) startBackground(system, features.all, stops);
  const { authenticator } = features.of(authFeature);
  const { gate } = features.of(switchesFeature).switches;
  const handlers = features.all.flatMap(({ services = [] }) => services);
  const cursors = createCursors(secrets);
  const app = createApp({ ...config, db, clock, cursors, authenticator, changes, gate, handlers });
  const internalPort = await openInternal(system, features, stops);
  // Behind the gateway when all is stopped: held polls are answered before the door closes.
  const door = createPublicDoor({ config, log, db, clock, metrics, secrets, gate });
  stops.push(door.close);
  const apps: Array<App<unknown>> = config.roles.api ? [app as App<unknown>] : [];
  apps.push(
    ...openGateway({ start: options.startGateway, log, gate: app.gate }, { system, features }, stops),
  );
  const endpoints = Object.assign({}, ...features.all.map((feature) => feature.endpoints?.(app)));
  port = await door.listen({ apps, endpoints: config.roles.api ? endpoints : {} });
  stops.push(async () => door.announceStop());
  const baseUrl = urlAt(port);
  for (const { onListening } of features.all)
    if (onListening !== undefined) stops.push(onListening(baseUrl).stop);
  noteBaseUrl(dataDir, baseUrl);
  const { localRegistry } = features.of(registriesFeature);
  return {
    port,
    baseUrl,
    internalPort,
    localRegistry,
    db,
    firstStart: firstStart && { ...firstStart, baseUrl },
  };
}

function mailOf({ mail: { smtp, from } }: Config) {
  return smtp === undefined || from === undefined ? undefined : createMail({ smtp, from });
}

/** Returns how it is ended. */
function watchDatabase({ config, db, registry, onError }: Unported, log: Logger): () => Promise<void> {
  const { databaseUrl, replicaUrl } = config;
  const hosts = databaseUrl === undefined ? 1 : addressOf(databaseUrl).hosts.length;
  const expectsStandby = hosts > 1 || replicaUrl !== undefined;
  const warn = (message: string): void => log.warn(message);
  return watchSynchrony({ sql: db.sql, expectsStandby, registry, warn, onError }).stop;
}

/**
 * This starts loops in the order of the features, and jobs of all of them in one worker. Old rows are deleted
 * by one feature after the other.
 */
function startBackground(system: Unported, features: readonly Feature[], stops: Stops): void {
  const { db, clock, registry, onError } = system;
  const { sql } = db;
  const kinds = features.flatMap(({ jobs = [] }) => jobs);
  const purge = async (): Promise<void> => {
    const ofFeatures = features.flatMap(({ purges = [] }) => purges);
    const steps = [
      async () => await purgeIdempotencyKeys(sql, clock),
      async () => await purgeJobs(sql),
      async () => await purgeParked(sql),
      ...ofFeatures.map((purgeOld) => async () => await purgeOld(clock.now().getTime())),
    ];
    await eachStep(steps, onError);
  };
  const counts = addJobMetrics(registry, { sql, onError, kinds: kinds.map(({ kind }) => kind) });
  const running = [
    ...features.flatMap(({ loops = [] }) => loops.map((start) => start())),
    ...startPublishing(
      system,
      features.flatMap(({ effects = [] }) => effects),
    ),
    startWorker({ db, kinds, onError, ...counts }),
    startLoop({ everyMs: PURGE_EVERY_MS, run: purge, onError }),
  ];
  stops.push(async () => await Promise.all(running.map(async (each) => await each.stop())));
}

interface GatewayParts {
  readonly start: StartGateway;
  readonly log: Logger;
  readonly gate: (rpc: RpcInfo) => RpcGate;
}

/** The gateway's app, when it lives in this process. */
function openGateway(
  { start, log, gate }: GatewayParts,
  { system, features }: { readonly system: Unported; readonly features: Started },
  stops: Stops,
): ReadonlyArray<App<unknown>> {
  const { config, queue, publicUrls, registry } = system;
  if (!config.roles.api || config.mode !== 'all-in-one') return [];
  const gateway = start({
    dispatch: features.of(workFeature).dispatch,
    queue,
    publicUrls,
    log,
    gate,
    onGateChange: features.of(switchesFeature).switches.onChange,
    trustedProxies: config.trustedProxies,
    registry,
  });
  stops.push(async () => await gateway.stop(config.stopGraceMs));
  return [gateway.app as App<unknown>];
}

/** The internal gRPC port for gateways, when it is served. */
async function openInternal({ config, onError }: Unported, features: Started, stops: Stops) {
  if (!config.roles.api || config.internalToken === undefined) return undefined;
  const at = { port: config.internalPort, host: config.internalHost };
  const { dispatch } = features.of(workFeature);
  const started = startDispatchGrpc({ ...at, dispatch, token: config.internalToken, onError });
  const grpc = await started.catch((error: Error) => {
    throw new ConfigError([
      `INTERNAL_HOST is "${at.host}" and INTERNAL_PORT ${at.port}, expected an address of this machine and a free port: ${error.message}`,
    ]);
  });
  stops.push(async () => await grpc.stop(config.stopGraceMs));
  return grpc.port;
}

function openQueue({ amqpUrl, mode }: Config, log: Logger): WorkQueue {
  if (amqpUrl === undefined) return createLocalQueue();
  return connectRabbit({ url: amqpUrl, role: mode === 'split' ? 'server' : 'all', log });
}

async function openStore(
  config: Config,
  { log, onError }: { readonly log: Logger; readonly onError: (error: unknown) => void },
  stops: Stops,
): Promise<Database> {
  let url = config.databaseUrl;
  if (url === undefined) {
    const embedded = await startEmbeddedPostgres(config.dataDir, (word) => log.warn(word));
    stops.push(embedded.stop);
    url = embedded.url;
  }
  // Around a pooler, if there is one.
  const direct = config.listenDatabaseUrl ?? url;
  const limits = { statementTimeoutMs: STATEMENT_TIMEOUT_MS, role: WORK_ROLE };
  const setting = config.listenDatabaseUrl === undefined ? 'DATABASE_URL' : 'LISTEN_DATABASE_URL';
  await assertSession({ ...limits, url: direct, setting, mayBeShared: false });
  // Before anything is written: migrations run where the listener's setting leads.
  await assertOneDatabase({ ...config, databaseUrl: url });
  const { role, installation } = await settleTables(direct, config, log);
  if (direct !== url)
    await assertSession({ ...limits, role, url, setting: 'DATABASE_URL', mayBeShared: true });
  const db = openDatabase({
    url,
    listenUrl: direct,
    replicaUrl: config.replicaUrl,
    role,
    installation,
    max: config.databaseConnections,
    name: 'svc-server',
    onError,
    onGeneration: (generation) =>
      log.warn({ generation }, 'the database was promoted or restored: a new generation begins'),
  });
  stops.push(async () => await db.close(config.stopGraceMs));
  return db;
}

interface Settled {
  /** Role that the server works under from then on. */
  readonly role: string | undefined;
  readonly installation: string | undefined;
}

/** Applies the migrations that are due, and starts nothing. */
export async function migrateOnly(config: Config, log: Logger): Promise<void> {
  const stops: Array<() => Promise<void>> = [];
  try {
    await openStore(config, { log, onError: (error) => log.warn({ err: error }) }, stops);
  } finally {
    for (const stop of stops.toReversed()) await stop();
  }
}

/** This settles the tables as their owner. */
async function settleTables(url: string, config: Config, log: Logger): Promise<Settled> {
  const applied = await migrate(url, { applies: config.migrate !== 'off' });
  if (applied.length > 0) log.info({ applied }, 'migrations were applied');
  const owner = openDatabase({ url, max: 1, name: 'svc-owner' });
  try {
    const { role, problem } = await prepareWorkRole(owner);
    if (problem !== undefined) log.warn(problem);
    return { role, installation: await installationOf(owner) };
  } finally {
    await owner.close(1_000);
  }
}

function once<T>(work: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined;
  return () => (result ??= work());
}
