/**
 * Starts two servers, two gateways, a database and the links between them, as real processes with one address
 * in front of each kind. It stays up for one scenario after the other, each of which brings what is its own
 * (stage.ts); every process that is killed or frozen comes back by itself.
 */
import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import postgres from 'postgres';
import type { Broker } from './broker.ts';
import type { Bundles } from './bundles.ts';
import { freePorts } from './free-ports.ts';
import { createLinks, withPorts, type Links } from './links.ts';
import { manageNode, type ManagedProcess } from './managed-process.ts';
import { createPoolers } from './pooler.ts';
import { createDatabase, type Cluster } from './postgres.ts';
import { openStage, teamsOf, type RigParts, type Stage, type StageOptions } from './stage.ts';
import { createSupervisor } from './supervisor.ts';

/**
 * Milliseconds, told to the servers by their configuration. Short, so that what takes a minute in life takes
 * seconds here.
 */
export interface RigTimes {
  readonly leaseMs: number;
  readonly offerMs: number;
  readonly graceMs: number;
  readonly heartbeatMs: number;
  readonly sweepEveryMs: number;
  readonly relayEveryMs: number;
  readonly pollWaitMs: number;
}

export const RIG_TIMES: RigTimes = {
  leaseMs: 3_000,
  offerMs: 2_500,
  graceMs: 200,
  heartbeatMs: 500,
  sweepEveryMs: 300,
  relayEveryMs: 300,
  pollWaitMs: 3_000,
};

export interface RigOptions {
  /** Logs and data folders of servers and gateways. */
  readonly folder: string;
  readonly bundles: Bundles;
  /** Instead of the sound one. */
  readonly serverBundle?: string;
  readonly broker: Broker;
  readonly cluster: Cluster;
  readonly servers: number;
  readonly gateways: number;
  readonly runners: number;
  readonly times: RigTimes;
  readonly databaseConnections: number;
}

export interface Rig {
  readonly databaseUrl: string;
  /** Teams of the scenarios that it carried: what belongs to them has been judged. */
  readonly judged: readonly string[];
  /** Processes that ended although nobody killed them, since this was asked the last time. */
  takeCrashes(): readonly string[];
  /** Ends the scenario before. */
  open(options: StageOptions): Promise<Stage>;
  stop(): Promise<void>;
}

const open = new Set<() => Promise<void>>();

/** For who is told to end in the middle: processes end and databases are dropped. */
export async function stopAllRigs(): Promise<void> {
  await Promise.allSettled([...open].map(async (stop) => await stop()));
}

export async function startRig(options: RigOptions): Promise<Rig> {
  mkdirSync(options.folder, { recursive: true });
  const database = await createDatabase(options.cluster);
  const supervisor = createSupervisor();
  const links = createLinks();
  const sql = postgres(database.url, {
    max: 2,
    onnotice: () => undefined,
    connection: { application_name: 'faults rig' },
  });
  let processes: readonly ManagedProcess[] = [];
  let stage: Stage | undefined;
  const stop = async (): Promise<void> => {
    if (!open.delete(stop)) return;
    supervisor.stop();
    await stage?.end();
    await Promise.all(processes.map(async (one) => await one.kill()));
    await links.close();
    await sql.end({ timeout: 1 });
    await database.drop();
  };
  open.add(stop);
  try {
    const wired = await wire(options, database.url, links);
    processes = [...wired.servers, ...wired.gateways, ...wired.poolers];
    for (const pooler of wired.poolers) await supervisor.up(pooler);
    // The first one migrates and makes the accounts.
    for (const server of wired.servers) await supervisor.up(server);
    await keepEvents(sql);
    await Promise.all(wired.gateways.map(async (gateway) => await supervisor.up(gateway)));
    const parts = { ...options, ...wired, databaseUrl: database.url, sql, links, supervisor };
    const judged: string[] = [];
    return {
      databaseUrl: database.url,
      judged,
      takeCrashes: () => supervisor.crashes.splice(0),
      open: async (stageOptions) => {
        await stage?.end();
        if (stage !== undefined) judged.push(...teamsOf(stage.account));
        stage = await openStage(parts, stageOptions, judged);
        return stage;
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Events are deleted with their effects; the checker counts them. */
async function keepEvents(sql: postgres.Sql): Promise<void> {
  await sql.unsafe(`
    create table faults_events as select kind, dedupe_key, payload from outbox with no data;
    create function faults_events() returns trigger language plpgsql security definer as $$
    begin
      insert into faults_events values (new.kind, new.dedupe_key, new.payload);
      return new;
    end $$;
    create trigger faults_events after insert on outbox for each row execute function faults_events()`);
}

/** Makes them one after the other. */
async function all<T>(count: number, make: (i: number) => Promise<T>): Promise<T[]> {
  const made: T[] = [];
  for (let i = 0; i < count; i += 1) made.push(await make(i));
  return made;
}

type Wired = Pick<
  RigParts,
  'servers' | 'gateways' | 'poolers' | 'uplinks' | 'serverUrl' | 'serverUrls' | 'bootstrapPath'
>;

/** Every connection goes through a link of its own. Nothing is started yet. */
async function wire(options: RigOptions, databaseUrl: string, links: Links): Promise<Wired> {
  const { folder, broker, cluster, servers, gateways, runners } = options;
  const [serverPorts, internalPorts, gatewayPorts] = [
    await freePorts(servers),
    await freePorts(servers),
    await freePorts(gateways),
  ];
  const serverProxy = await links.open('public', 0, serverPorts);
  // The rig itself goes past the links; nothing here waits for a network that it broke.
  const poolers = cluster.pair === undefined ? [] : await createPoolers(folder, cluster.ports);
  const brokers = await all(
    servers + gateways,
    async (i) =>
      await all(broker.ports.length, async (j) => await links.open('broker', i, [broker.ports[j] ?? 0])),
  );
  const databases = await all(servers, async (i) => {
    // Every second server comes through poolers and has the hosts the other way round.
    const ports = i % 2 === 1 && poolers.length > 0 ? poolers.map(({ port }) => port) : cluster.ports;
    const proxies = await all(ports.length, async (j) => await links.open('database', i, [ports[j] ?? 0]));
    return i % 2 === 1 ? proxies.toReversed() : proxies;
  });
  const dispatch = await all(
    gateways,
    async (i) => await all(servers, async (j) => await links.open('gateway', i, [internalPorts[j] ?? 0])),
  );
  const uplinks = (await all(runners, async (i) => await links.open('runner', i, gatewayPorts))).map(
    ({ url }) => url,
  );
  const common = {
    HOST: '127.0.0.1',
    // As which the pile-up comes, see pipelined-client.ts.
    TRUSTED_PROXIES: '127.0.0.1',
    INTERNAL_TOKEN: randomBytes(24).toString('base64url'),
    PUBLIC_URLS: uplinks.join(','),
    LOG_LEVEL: 'warn',
  };
  const secretsKey = randomBytes(32).toString('base64');
  const amqpUrl = (i: number): string => broker.urlAt(brokers[i]?.map(({ port }) => port) ?? []);
  return {
    servers: serverPorts.map((port, i) =>
      serverOf(options, i, {
        ...common,
        PORT: String(port),
        INTERNAL_PORT: String(internalPorts[i]),
        SECRETS_KEY: secretsKey,
        // Nothing is published there; builds are refused where there is none.
        LOCAL_REGISTRY: '127.0.0.1:5000',
        DATABASE_URL: withPorts(databaseUrl, databases[i] ?? []),
        AMQP_URL: amqpUrl(i),
      }),
    ),
    gateways: gatewayPorts.map((port, i) => {
      const ports = dispatch[i]?.map((proxy) => proxy.port) ?? [];
      // Each has another server first.
      const inTurn = [...ports.slice(i % ports.length), ...ports.slice(0, i % ports.length)];
      return manageNode(options.bundles, folder, {
        name: `gateway-${i}`,
        script: options.bundles.gateway,
        readyPattern: LISTENING,
        env: {
          ...common,
          PORT: String(port),
          DISPATCH_URLS: inTurn.map((internal) => `grpc://127.0.0.1:${internal}`).join(','),
          AMQP_URL: amqpUrl(servers + i),
        },
      });
    }),
    poolers: poolers.map(({ process: pooler }) => pooler),
    uplinks,
    serverUrl: serverProxy.url,
    serverUrls: serverPorts.map((port) => `http://127.0.0.1:${port}`),
    bootstrapPath: join(folder, 'data-0', 'bootstrap.json'),
  };
}

const LISTENING = /listening on/;

function serverOf(
  { folder, bundles, serverBundle, times, databaseConnections }: RigOptions,
  i: number,
  addresses: Readonly<Record<string, string>>,
): ManagedProcess {
  return manageNode(bundles, folder, {
    name: `server-${i}`,
    script: serverBundle ?? bundles.server,
    readyPattern: LISTENING,
    env: {
      ...addresses,
      SVC_MODE: 'split',
      INTERNAL_HOST: '127.0.0.1',
      DATA_DIR: join(folder, `data-${i}`),
      DATABASE_CONNECTIONS: String(databaseConnections),
      RUNNER_DURATION_DIVERGENCE_STRIKE_THRESHOLD: '1000',
      LIMIT_REQUESTS_PER_MINUTE: '1000000',
      LIMIT_SUBMITS_PER_MINUTE: '1000000',
      // The pile-up executes nothing: at the default of 10,000 it would be refused from its eleventh round
      // on.
      LIMIT_QUEUED_RUNS_PER_TEAM: '1000000',
      POLL_WAIT_MS: String(times.pollWaitMs),
      HEARTBEAT_MS: String(times.heartbeatMs),
      OFFER_MS: String(times.offerMs),
      LEASE_MS: String(times.leaseMs),
      LEASE_GRACE_MS: String(times.graceMs),
      SWEEP_EVERY_MS: String(times.sweepEveryMs),
      RELAY_EVERY_MS: String(times.relayEveryMs),
      RUNNER_SILENT_MS: String(times.leaseMs),
    },
  });
}
