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
import { startTcpProxy, type TcpProxy } from '../setup/tcp-proxy.ts';
import { waitFor } from '../setup/wait-for.ts';
import { freePorts } from './free-ports.ts';
import { createNode, initialise, type Installation, type Node } from './postgres-node.ts';

export type Pair = Awaited<ReturnType<typeof startPair>>;

export async function startPair(installation: Installation, folder: string) {
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
      const following = async () => await sql`select from pg_stat_replication where state = 'streaming'`;
      await waitFor(`${standby.name} to follow ${primary.name}`, following, {
        holds: (rows) => rows.length > 0,
      });
    });
    await settle();
  };
  /** The one that was killed is made anew, behind the other. */
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
    /** The ports of its two nodes are in the order of their making. */
    ports,
    /** It leads to the primary. */
    address,
    get primary(): Node {
      return primary;
    },
    /**
     * Kills the primary and promotes the standby. For `lagMs` before that nothing reaches the standby. It
     * resolves when the new primary takes writes.
     */
    promote: async (lagMs = 0): Promise<void> => {
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
    /** The primary is shut down, the standby promoted, and the old primary comes back as the standby. */
    demote: async (): Promise<void> => {
      await primary.shutDown();
      await swap();
      behind(standby, links.get(primary));
      await standby.start();
      await follows();
    },
    rejoin,
    /** They do by default. */
    commitsWait: async (wait: boolean): Promise<void> => {
      isSynchronous = wait;
      await settle();
    },
    stop: async (): Promise<void> => {
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
