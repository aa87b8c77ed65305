/**
 * A primary and a standby by streaming replication, over a link that can be held back, and an address that
 * leads to the primary, whichever it is. Who decides about a failover in life (an operator, Patroni) is
 * played here: the standby is promoted, the old primary comes back behind it, and commits wait for the
 * standby as long as there is one.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import postgres from 'postgres';
import { startTcpProxy } from '../setup/tcp-proxy.ts';
import type { TcpProxy } from '../setup/tcp-proxy.ts';
import { freePorts } from './free-ports.ts';
import { createNode, initialise } from './postgres-node.ts';
import type { Installation, Node } from './postgres-node.ts';

export interface Pair {
  /** The ports of its two nodes, in the order of their making. */
  readonly ports: readonly number[];
  readonly primary: Node;
  /** Address of the primary. */
  readonly address: TcpProxy;
  /**
   * Kills the primary and promotes the standby. For `lagMs` before that nothing reaches the standby. Resolves
   * when it takes writes.
   */
  promote(lagMs?: number): Promise<void>;
  /** The primary is shut down, the standby promoted, and the old primary comes back as the standby. */
  demote(): Promise<void>;
  /** The one that was killed is made anew, behind the other. */
  rejoin(): Promise<void>;
  /** Default: they do. */
  commitsWait(isSynchronous: boolean): Promise<void>;
  stop(): Promise<void>;
}

const WITHIN_MS = 30_000;

export async function startPair(installation: Installation, folder: string): Promise<Pair> {
  const ports = await freePorts(2);
  const nodes = ports.map((port, i) => {
    const name = i === 0 ? 'postgres' : 'postgres-b';
    const home = join(folder, name);
    installation.folder(home);
    return createNode(installation, { name, folder, data: join(home, 'data'), port });
  });
  const [a, b] = nodes as [Node, Node];
  let [primary, standby] = [a, b];
  let isSynchronous = true;
  initialise(installation, a.data);
  await a.start();
  const address = await startTcpProxy([a.port]);
  /** Links to each node, for a standby of it. */
  const links = new Map<Node, TcpProxy>();
  for (const node of nodes) links.set(node, await startTcpProxy([node.port]));

  /** Commits wait from now on, or not; those that wait already go on when they need not. */
  const settle = async (): Promise<void> =>
    await asAdmin(primary, async (sql) => {
      await sql.unsafe(`alter system set synchronous_standby_names = '${isSynchronous ? '*' : ''}'`);
      await sql`select pg_reload_conf()`;
    });
  const follows = async (): Promise<void> => {
    await asAdmin(primary, async (sql) => {
      await until(`${standby.name} to follow ${primary.name}`, async () => {
        const rows = await sql`select from pg_stat_replication where state = 'streaming'`;
        return rows.length > 0;
      });
    });
    await settle();
  };
  const rejoin = async (): Promise<void> => {
    await standby.kill();
    rmSync(standby.data, { recursive: true, force: true });
    const from = ['-h', '127.0.0.1', '-p', String(primary.port), '-U', 'postgres'];
    const how = ['--checkpoint=fast', '--no-sync', '-X', 'stream'];
    installation.run('pg_basebackup', ['-D', standby.data, ...from, ...how]);
    behind(standby, links.get(primary));
    await standby.start();
    await follows();
  };
  const swap = async (): Promise<void> => {
    [primary, standby] = [standby, primary];
    await asAdmin(primary, async (sql) => void (await sql`select pg_promote(true, 60)`));
    address.lead([primary.port]);
  };
  await rejoin();
  return {
    ports,
    address,
    get primary() {
      return primary;
    },
    promote: async (lagMs = 0) => {
      const link = links.get(primary);
      if (lagMs > 0) {
        link?.impair({ how: 'lost', directions: ['answers'] });
        await pause(lagMs);
      }
      await primary.kill();
      // What it had sent and what did not arrive is gone with it.
      link?.heal({ reset: true });
      await swap();
    },
    demote: async () => {
      await primary.shutDown();
      await swap();
      behind(standby, links.get(primary));
      await standby.start();
      await follows();
    },
    rejoin,
    commitsWait: async (wait) => {
      isSynchronous = wait;
      await settle();
    },
    stop: async () => {
      await Promise.all([address, ...links.values()].map(async (proxy) => await proxy.close()));
      await Promise.all(nodes.map(async (node) => await node.process.kill()));
    },
  };
}

/**
 * Nothing that it said as a primary holds: it would wait for a standby when it is promoted, and there is none
 * at that moment.
 */
function behind(standby: Node, link: TcpProxy | undefined): void {
  const settings = `primary_conninfo = 'host=127.0.0.1 port=${link?.port} user=postgres application_name=${standby.name.replace('-', '_')}'\n`;
  writeFileSync(join(standby.data, 'postgresql.auto.conf'), settings);
  writeFileSync(join(standby.data, 'standby.signal'), '');
}

async function asAdmin(node: Node, work: (sql: postgres.Sql) => Promise<void>): Promise<void> {
  const sql = postgres(`postgres://postgres@127.0.0.1:${node.port}/postgres`, {
    max: 1,
    onnotice: () => undefined,
    connection: { application_name: 'faults pair' },
  });
  try {
    await work(sql);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  for (const end = performance.now() + WITHIN_MS; !(await isSo()); await pause(20))
    if (performance.now() > end) throw new Error(`waited ${WITHIN_MS} ms for ${what}`);
}
