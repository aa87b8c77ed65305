/**
 * Two servers, two gateways, a broker and runner simulators as real processes, with one address in front of each kind, and the faults that can be done to
 * them. The rig journals what it does. Every process that it killed or froze comes back by itself; `inject` resolves when it has.
 */
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import postgres from 'postgres';
import { prepareAccount } from './account.ts';
import type { Account } from './account.ts';
import type { Broker } from './broker.ts';
import type { Bundles } from './bundles.ts';
import type { RigEntry } from './entries.ts';
import { freePorts } from './free-ports.ts';
import { inject } from './injection.ts';
import type { Injectable } from './injection.ts';
import { openJournal } from './journal.ts';
import type { Journal } from './journal.ts';
import { createLinks, withPort } from './links.ts';
import { manageProcess } from './managed-process.ts';
import type { ManagedProcess } from './managed-process.ts';
import { createDatabase } from './postgres.ts';
import type { Cluster } from './postgres.ts';
import { clockFile } from './clock.ts';
import type { SimConfig } from './runner-sim.ts';
import type { Fault } from './schedule.ts';
import type { SubmitConfig } from './submitter.ts';

/** Milliseconds, told to the servers by their configuration. Short, so that what takes a minute in life takes seconds here. */
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
  offerMs: 1_500,
  graceMs: 200,
  heartbeatMs: 500,
  sweepEveryMs: 300,
  relayEveryMs: 300,
  pollWaitMs: 1_500,
};

export type SimBehaviour = Pick<
  SimConfig,
  'slots' | 'buildSlots' | 'workMs' | 'longShare' | 'lateShare' | 'lateMs' | 'failShare' | 'outputShare'
>;

export interface RigOptions {
  /** Everything of this rig goes here: journals, logs, keys, data folders. */
  readonly folder: string;
  readonly bundles: Bundles;
  /** Instead of the sound one. */
  readonly serverBundle?: string;
  readonly broker: Broker;
  readonly cluster: Cluster;
  readonly seed: number;
  readonly servers: number;
  readonly gateways: number;
  readonly runners: number;
  /** So many of the runners, the last ones, are of another team that has work of its own. */
  readonly otherRunners: number;
  /** That builds are submitted for. */
  readonly environments: number;
  readonly times: RigTimes;
  readonly sims: SimBehaviour;
  readonly databaseConnections: number;
}

export interface Unfinished {
  /** Work items that have not ended. */
  readonly items: number;
  /** Reports that no simulator has an answer to yet. */
  readonly reports: number;
  /** Work that waits by the clock before it is offered again, after it lost runners. */
  readonly waiting: number;
  /** Changes with every grant, renewal and end: as long as it does, something is going on. */
  readonly sign: string;
}

export type SubmitLoad = Pick<
  SubmitConfig,
  'runs' | 'runsPerSecond' | 'projectsPerHundred' | 'buildsPerHundred' | 'patienceMs'
>;

export interface Rig {
  readonly databaseUrl: string;
  readonly account: Account;
  /** Each server by itself, past the proxy. */
  readonly serverUrls: readonly string[];
  readonly journal: Journal<RigEntry>;
  /** Processes that ended although nobody killed them, with the end of what they printed. */
  readonly crashes: readonly string[];
  startSubmitter(config: SubmitLoad): Promise<ManagedProcess>;
  inject(fault: Fault): Promise<void>;
  /** Nobody may write work items until the answer is called. */
  lockItems(): Promise<() => Promise<void>>;
  /** Whether one of these work items is not there. */
  missing(ids: readonly string[]): Promise<boolean>;
  startRunners(): Promise<void>;
  unfinished(): Promise<Unfinished>;
  /** The simulators end; what they had under way ends with them. */
  stopRunners(): Promise<void>;
  stop(): Promise<void>;
}

const START_MS = 30_000;
const STARTS_MAX = 5;

const open = new Set<() => Promise<void>>();

/** For who is told to end in the middle: processes end and databases are dropped. */
export async function stopAllRigs(): Promise<void> {
  await Promise.allSettled([...open].map(async (stop) => await stop()));
}

export async function startRig(options: RigOptions): Promise<Rig> {
  mkdirSync(options.folder, { recursive: true });
  const database = await createDatabase(options.cluster);
  const parts = new Parts(options, database.url);
  const stop = async (): Promise<void> => {
    if (!open.delete(stop)) return;
    await parts.stop();
    await database.drop();
  };
  open.add(stop);
  try {
    const account = await parts.start();
    return {
      databaseUrl: database.url,
      account,
      serverUrls: parts.serverUrls,
      journal: parts.journal,
      crashes: parts.crashes,
      startSubmitter: async (config) => await parts.startSubmitter(account, config),
      inject: async (fault) => await parts.inject(fault, account),
      lockItems: async () => await parts.lockItems(),
      missing: async (ids) => await parts.missing(ids),
      startRunners: async () => await parts.startRunners(),
      unfinished: async () => await parts.unfinished(),
      stopRunners: async () => await parts.stopRunners(),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

interface ServerAddresses {
  readonly port: number;
  readonly internalPort: number;
  readonly publicUrls: string;
  readonly databaseUrl: string;
  readonly amqpUrl: string;
}

interface GatewayAddresses {
  readonly port: number;
  readonly internalPorts: readonly number[];
  readonly publicUrls: string;
  readonly amqpUrl: string;
}

/** One after the other. */
async function all<T>(count: number, make: (i: number) => Promise<T>): Promise<T[]> {
  const made: T[] = [];
  for (let i = 0; i < count; i += 1) made.push(await make(i));
  return made;
}

class Parts {
  readonly journal: Journal<RigEntry>;
  readonly crashes: string[] = [];
  serverUrls: readonly string[] = [];
  readonly #options: RigOptions;
  readonly #sql: postgres.Sql;
  readonly #databaseUrl: string;
  readonly #internalToken = randomBytes(24).toString('base64url');
  readonly #secretsKey = randomBytes(32).toString('base64');
  #servers: ManagedProcess[] = [];
  #gateways: ManagedProcess[] = [];
  #runners: ManagedProcess[] = [];
  #submitters: ManagedProcess[] = [];
  readonly #links = createLinks();
  /** Down on purpose, or on its way up: nothing else is done to it, and its end is no crash. */
  readonly #handled = new Set<string>();
  #serverUrl = '';
  #stopping = false;

  constructor(options: RigOptions, databaseUrl: string) {
    this.#options = options;
    this.#databaseUrl = databaseUrl;
    this.journal = openJournal<RigEntry>(join(options.folder, 'rig.jsonl'));
    this.#sql = postgres(databaseUrl, {
      max: 2,
      onnotice: () => undefined,
      connection: { application_name: 'faults rig' },
    });
  }

  async start(): Promise<Account> {
    const { servers, gateways } = this.#options;
    const [serverPorts, internalPorts, gatewayPorts] = [
      await freePorts(servers),
      await freePorts(servers),
      await freePorts(gateways),
    ];
    const { broker, cluster, runners } = this.#options;
    const { open } = this.#links;
    const serverProxy = await open('public', 0, serverPorts);
    // The rig itself goes past the links; nothing here waits for a network that it broke.
    const brokerPort = Number(new URL(broker.url).port);
    const databasePort = Number(new URL(cluster.adminUrl).port || '5432');
    const brokers = await all(servers + gateways, async (i) => await open('broker', i, [brokerPort]));
    const databases = await all(servers, async (i) => await open('database', i, [databasePort]));
    const dispatch = await all(
      gateways,
      async (i) => await all(servers, async (j) => await open('gateway', i, [internalPorts[j] ?? 0])),
    );
    const uplinks = await all(runners, async (i) => await open('runner', i, gatewayPorts));
    const publicUrls = uplinks.map(({ url }) => url).join(',');
    const amqpUrl = (i: number): string => withPort(broker.url, brokers[i]?.port);
    this.#servers = serverPorts.map((port, i) =>
      this.#server(i, {
        port,
        internalPort: internalPorts[i] ?? 0,
        publicUrls,
        databaseUrl: withPort(this.#databaseUrl, databases[i]?.port),
        amqpUrl: amqpUrl(i),
      }),
    );
    this.#gateways = gatewayPorts.map((port, i) =>
      this.#gateway(i, {
        port,
        internalPorts: dispatch[i]?.map((proxy) => proxy.port) ?? [],
        publicUrls,
        amqpUrl: amqpUrl(servers + i),
      }),
    );
    // The first one migrates and makes the accounts.
    for (const server of this.#servers) await this.#up(server);
    await Promise.all(this.#gateways.map(async (gateway) => await this.#up(gateway)));
    const { account, tokens } = await prepareAccount({
      serverUrl: serverProxy.url,
      bootstrapPath: join(this.#options.folder, 'data-0', 'bootstrap.json'),
      runners,
      otherRunners: this.#options.otherRunners,
      environments: this.#options.environments,
    });
    this.#runners = uplinks.map(({ url }, i) => this.#simulator(i, tokens[i] ?? '', url));
    this.#serverUrl = serverProxy.url;
    this.serverUrls = serverPorts.map((port) => `http://127.0.0.1:${port}`);
    return account;
  }

  async startRunners(): Promise<void> {
    await Promise.all(this.#runners.map(async (runner) => await this.#up(runner)));
  }

  async missing(ids: readonly string[]): Promise<boolean> {
    const [row] = await this.#sql<
      Array<{ count: number }>
    >`select count(*)::int as count from work_items where id = any(${[...ids]}::text[])`;
    return row?.count !== ids.length;
  }

  async lockItems(): Promise<() => Promise<void>> {
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    let locked = (): void => undefined;
    const isLocked = new Promise<void>((resolve) => {
      locked = resolve;
    });
    const transaction = this.#sql.begin(async (sql) => {
      await sql`lock table work_items in exclusive mode`;
      locked();
      await released;
    });
    await Promise.race([isLocked, transaction]);
    return async () => {
      release();
      await transaction;
    };
  }

  #node(name: string, script: string, env: Record<string, string>, readyPattern: RegExp): ManagedProcess {
    const { folder, bundles } = this.#options;
    const args = ['--require', bundles.leash, '--require', bundles.clock, script];
    return manageProcess({
      name,
      command: process.execPath,
      args,
      env: { ...env, FAULT_CLOCK: clockFile(folder, name) },
      folder,
      readyPattern,
      readyMs: START_MS,
      leash: 'node',
    });
  }

  #server(
    i: number,
    { port, internalPort, publicUrls, databaseUrl, amqpUrl }: ServerAddresses,
  ): ManagedProcess {
    const { times, folder, bundles, serverBundle } = this.#options;
    const env = {
      SVC_MODE: 'split',
      HOST: '127.0.0.1',
      PORT: String(port),
      INTERNAL_HOST: '127.0.0.1',
      INTERNAL_PORT: String(internalPort),
      INTERNAL_TOKEN: this.#internalToken,
      SECRETS_KEY: this.#secretsKey,
      DATA_DIR: join(folder, `data-${i}`),
      DATABASE_URL: databaseUrl,
      DATABASE_CONNECTIONS: String(this.#options.databaseConnections),
      AMQP_URL: amqpUrl,
      PUBLIC_URLS: publicUrls,
      LOG_LEVEL: 'warn',
      RUNNER_DURATION_DIVERGENCE_STRIKE_THRESHOLD: '1000',
      LIMIT_REQUESTS_PER_MINUTE: '1000000',
      LIMIT_SUBMITS_PER_MINUTE: '1000000',
      POLL_WAIT_MS: String(times.pollWaitMs),
      HEARTBEAT_MS: String(times.heartbeatMs),
      OFFER_MS: String(times.offerMs),
      LEASE_MS: String(times.leaseMs),
      LEASE_GRACE_MS: String(times.graceMs),
      SWEEP_EVERY_MS: String(times.sweepEveryMs),
      RELAY_EVERY_MS: String(times.relayEveryMs),
      RUNNER_SILENT_MS: String(times.leaseMs),
    };
    return this.#node(`server-${i}`, serverBundle ?? bundles.server, env, /listening on/);
  }

  #gateway(i: number, { port, internalPorts, publicUrls, amqpUrl }: GatewayAddresses): ManagedProcess {
    const { bundles } = this.#options;
    // Each has another server first.
    const inTurn = [
      ...internalPorts.slice(i % internalPorts.length),
      ...internalPorts.slice(0, i % internalPorts.length),
    ];
    const env = {
      HOST: '127.0.0.1',
      PORT: String(port),
      DISPATCH_URLS: inTurn.map((internal) => `grpc://127.0.0.1:${internal}`).join(','),
      INTERNAL_TOKEN: this.#internalToken,
      AMQP_URL: amqpUrl,
      PUBLIC_URLS: publicUrls,
      LOG_LEVEL: 'warn',
    };
    return this.#node(`gateway-${i}`, bundles.gateway, env, /listening on/);
  }

  #simulator(i: number, token: string, url: string): ManagedProcess {
    const { folder, seed, times, sims, bundles } = this.#options;
    const { heartbeatMs, leaseMs, pollWaitMs } = times;
    const config: SimConfig = {
      name: `runner-${i}`,
      url,
      token,
      folder,
      seed,
      heartbeatMs,
      leaseMs,
      pollWaitMs,
      ...sims,
    };
    return this.#node(config.name, bundles.runnerSim, { FAULT_SIM: JSON.stringify(config) }, /^ready$/m);
  }

  async startSubmitter(
    { apiKey, teamId, otherTeamId, environmentIds }: Account,
    rest: SubmitLoad,
  ): Promise<ManagedProcess> {
    const { folder, seed, bundles } = this.#options;
    const name = `s${this.#submitters.length}`;
    const config: SubmitConfig = {
      name,
      folder,
      url: this.#serverUrl,
      apiKey,
      teamId,
      seed,
      environmentIds,
      ...(otherTeamId === undefined ? {} : { otherTeamId }),
      ...rest,
    };
    const submitter = this.#node(
      `submitter-${name}`,
      bundles.submitter,
      { FAULT_SUBMIT: JSON.stringify(config) },
      /^ready$/m,
    );
    this.#submitters.push(submitter);
    await submitter.start();
    return submitter;
  }

  /** Starts it, and again whenever it ends although nobody killed it. */
  async #up(one: ManagedProcess): Promise<void> {
    await this.#startPatiently(one);
    if (this.#stopping) return;
    await this.journal.append({ event: 'started', process: one.name, pid: one.pid });
    void this.#watch(one).catch((error: unknown) =>
      this.crashes.push(`${one.name} did not come back: ${String(error)}`),
    );
  }

  /** A server whose connections are cut while it starts ends itself; whoever supervises it starts it again, as this does. */
  async #startPatiently(one: ManagedProcess): Promise<void> {
    for (let tries = 1; !this.#stopping; tries += 1) {
      try {
        return await one.start();
      } catch (error) {
        await one.kill();
        if (tries >= STARTS_MAX) throw error;
      }
    }
  }

  async #watch(one: ManagedProcess): Promise<void> {
    const code = await one.exited();
    if (this.#stopping || this.#handled.has(one.name)) return;
    this.#handled.add(one.name);
    await this.journal.append({ event: 'dead', process: one.name });
    this.crashes.push(`${one.name} ended by itself with ${code}:\n${one.output().slice(-3_000)}`);
    await this.#up(one);
    this.#handled.delete(one.name);
  }

  async inject(fault: Fault, account: Account): Promise<void> {
    const { broker, cluster, folder } = this.#options;
    const parts: Injectable = {
      sql: this.#sql,
      journal: this.journal,
      links: this.#links,
      broker,
      cluster,
      servers: this.#servers,
      gateways: this.#gateways,
      runners: this.#runners,
      handled: this.#handled,
      crashes: this.crashes,
      poolIds: [account.teamId, ...(account.otherTeamId === undefined ? [] : [account.otherTeamId])],
      clockFile: (name) => clockFile(folder, name),
      up: async (one) => await this.#up(one),
      startPatiently: async (one) => await this.#startPatiently(one),
      lockItems: async () => await this.lockItems(),
    };
    return await inject(parts, fault);
  }

  async unfinished(): Promise<Unfinished> {
    const [row] = await this.#sql<Array<{ items: number; waiting: number; sign: string }>>`
      select count(*) filter (where finished_at is null)::int as items,
        count(*) filter (where state = 'queued' and run_after > now() and run_after < 'infinity')::int as waiting,
        concat(sum(epoch), ' ', count(finished_at), ' ', max(lease_expires_at), ' ', max(finished_at)) as sign
      from work_items`;
    const { folder } = this.#options;
    const outboxes = readdirSync(folder).filter((name) => name.endsWith('-outbox'));
    const reports = outboxes
      .flatMap((name) => readdirSync(join(folder, name)))
      .filter((name) => name.endsWith('.json')).length;
    return { items: row?.items ?? 0, waiting: row?.waiting ?? 0, reports, sign: row?.sign ?? '' };
  }

  async stopRunners(): Promise<void> {
    for (const runner of this.#runners) this.#handled.add(runner.name);
    for (const runner of this.#runners) {
      await runner.kill();
      await this.journal.append({ event: 'dead', process: runner.name });
    }
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await Promise.all(
      [...this.#submitters, ...this.#runners, ...this.#gateways, ...this.#servers].map(
        async (one) => await one.kill(),
      ),
    );
    await this.#links.close();
    await this.#sql.end({ timeout: 1 });
    await this.journal.close();
  }
}
