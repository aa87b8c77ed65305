/**
 * The PostgreSQL of the fault tests: one server, or a pair of which one follows the other. Where none can be
 * started, the machine's is used, and is left alone.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import postgres from 'postgres';
import { DATABASE_URL } from '../setup/needs.ts';
import { freePorts } from './free-ports.ts';
import type { ManagedProcess } from './managed-process.ts';
import { createNode, findInstallation, initialise, type Node } from './postgres-node.ts';
import { startPair, type Pair } from './postgres-pair.ts';

export interface Cluster {
  /** Address of a database that is always there, for a superuser. It leads to the primary. */
  readonly adminUrl: string;
  /** Ports of its servers. */
  readonly ports: readonly number[];
  /** It is undefined where the database has no standby. */
  readonly pair: Pair | undefined;
  /** The primary. Undefined for the machine's own: it may be neither killed nor frozen. */
  readonly process: ManagedProcess | undefined;
  /** Sends it to the postmaster and everything that it started. Each of them is a group of its own. */
  signal(signal: NodeJS.Signals): void;
  /**
   * SIGKILL to the postmaster; what it started ends by itself. Resolves when it is dead and its shell has
   * buried it.
   */
  kill(): Promise<void>;
  /** After a kill. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

export async function startPostgres(folder: string, size: 'one' | 'pair' = 'one'): Promise<Cluster> {
  const installation = findInstallation();
  if (installation === undefined) {
    console.warn("using the machine's PostgreSQL, which is not killed");
    return machines();
  }
  if (size === 'pair') {
    const pair = await startPair(installation, folder);
    return {
      ...clusterOf(() => pair.primary, pair.address.port),
      ports: pair.ports,
      pair,
      stop: pair.stop,
    };
  }
  const home = join(folder, 'postgres');
  const data = join(home, 'data');
  installation.folder(home);
  initialise(installation, data);
  const [port = 0] = await freePorts(1);
  const node = createNode(installation, { name: 'postgres', folder, data, port });
  await node.start();
  return clusterOf(() => node, port);
}

function clusterOf(primary: () => Node, port: number): Cluster {
  return {
    adminUrl: `postgres://postgres@127.0.0.1:${port}/postgres`,
    ports: [port],
    pair: undefined,
    get process() {
      return primary().process;
    },
    signal: (signal) => primary().signal(signal),
    kill: async () => await primary().kill(),
    start: async () => await primary().start(),
    stop: async () => await primary().process.kill(),
  };
}

/** Creates a database of its own in the cluster. `drop` ends whoever is still connected. */
export async function createDatabase({
  adminUrl,
  process: own,
}: Cluster): Promise<{ readonly url: string; drop(): Promise<void> }> {
  const name = `svc_test_${randomBytes(6).toString('hex')}`;
  const asAdmin = async (...statements: readonly string[]): Promise<void> => {
    const admin = postgres(adminUrl, { max: 1, onnotice: () => undefined });
    try {
      for (const statement of statements) await admin.unsafe(statement);
    } finally {
      await admin.end();
    }
  };
  await asAdmin(
    `create database ${name}`,
    // At the machine's nothing is killed, so nothing that was committed can be lost by this, and its disk is
    // not what is tested.
    ...(own === undefined ? [`alter database ${name} set synchronous_commit = off`] : []),
  );
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  return { url: url.href, drop: async () => await asAdmin(`drop database if exists ${name} with (force)`) };
}

function machines(): Cluster {
  const nothing = (): void => undefined;
  const later = async (): Promise<void> => await Promise.resolve();
  return {
    adminUrl: DATABASE_URL,
    ports: [Number(new URL(DATABASE_URL).port || '5432')],
    pair: undefined,
    process: undefined,
    signal: nothing,
    kill: later,
    start: later,
    stop: later,
  };
}
