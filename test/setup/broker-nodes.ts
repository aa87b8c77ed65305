/**
 * RabbitMQ nodes of our own, one or a cluster, which may be killed, frozen and cut off from each other
 * without anybody else noticing: own names, ports, cookie, data and log folders, on loopback alone. They die
 * with whoever started them.
 *
 * Each node has a port mapper of its own (the role of epmd), which can tell it of every other node the port
 * of a proxy, so that the link between any two can be made silent: a partition is that, and not a closed
 * connection.
 */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePorts } from '../faults/free-ports.ts';
import { manageProcess } from '../faults/managed-process.ts';
import { startPortMapper, type PortMapper } from './port-mapper.ts';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';

export type BrokerNodes = Awaited<ReturnType<typeof startBrokerNodes>>;

/** The script itself: the one in the path changes the user and the environment. */
const SCRIPTS = [
  '/usr/lib/rabbitmq/bin/rabbitmq-server',
  '/opt/rabbitmq/sbin/rabbitmq-server',
  '/usr/local/sbin/rabbitmq-server',
];
/** Present on this machine. */
export const brokerScript = SCRIPTS.find((path) => existsSync(path));

/** What operators of a cluster are advised to set. */
const ADVICE = new URL('../../ops/rabbitmq/cluster.conf', import.meta.url);

/** A node needs about 6 s on an idle machine, and the rest of the tests may run beside it. */
const READY_MS = 120_000;
/** A node that has none left hangs without a word. */
const DESCRIPTORS = 20_000;
/** A tool needs seconds to start, and some of them wait for the cluster. */
const CONTROL_MS = 60_000;
/**
 * How long nodes look for each other, restarts of some included. The tool fails at once at a node that is
 * restarting itself.
 */
const WHOLE_MS = 90_000;
const WHOLE_EVERY_MS = 1_000;
/** A shell that reads the leash: when it ends, or when it is killed with its group, the node ends with it. */
const LINE = `ulimit -n ${DESCRIPTORS}; "$0" </dev/null & read -r leash; kill -KILL 0`;

interface Place {
  readonly name: string;
  readonly port: number;
  readonly distribution: number;
  readonly mapper: number;
}

export interface BrokerNodesOptions {
  readonly count: number;
  /**
   * True for links between the nodes that can be made silent. Each takes time from whatever the nodes agree
   * on.
   */
  readonly links?: boolean;
}

/** Starts the nodes, and resolves when all of them run as one cluster. */
export async function startBrokerNodes(folder: string, { count, links: linked = false }: BrokerNodesOptions) {
  if (brokerScript === undefined) throw new Error(`no rabbitmq-server at ${SCRIPTS.join(', ')}`);
  const ports = await freePorts(count * 3);
  const places = Array.from({ length: count }, (_, i): Place => {
    const [port = 0, distribution = 0, mapper = 0] = ports.slice(3 * i);
    return { name: `svc${port}`, port, distribution, mapper };
  });
  const links = linked ? await linksOf(places) : new Map<string, TcpProxy>();
  const mappers: PortMapper[] = [];
  for (const [from, { mapper }] of places.entries()) {
    const portOf = (name: string): number | undefined => {
      const to = places.findIndex((place) => place.name === name);
      return links.get(linkKey(from, to))?.port ?? places[to]?.distribution;
    };
    mappers.push(await startPortMapper(mapper, portOf));
  }
  const nodes = places.map((_, i) => nodeOf(folder, places, i));
  const own = {
    nodes,
    /**
     * Nothing passes between this node and the others until the answer is called; clients reach all of them.
     */
    isolate: (index: number) => {
      if (!linked) throw new Error('these nodes have no links that could be cut');
      const cut = [...links].filter(([key]) => key.split(' ').includes(String(index)));
      for (const [, proxy] of cut) proxy.impair({ how: 'lost', directions: ['requests', 'answers'] });
      // What waited in the links is of connections that both ends gave up.
      return () => {
        for (const [, proxy] of cut) proxy.heal({ reset: true });
      };
    },
    /** This node sees every other one again. It is false when it does not within minutes. */
    whole: async (index: number) => {
      for (
        const untilMs = performance.now() + WHOLE_MS;
        performance.now() < untilMs;
        await pause(WHOLE_EVERY_MS)
      )
        if (await nodes[index]?.control('await_online_nodes', String(count))) return true;
      return false;
    },
    stop: async () => {
      await Promise.all(nodes.map(async ({ process }) => await process.kill()));
      await Promise.all([...mappers, ...links.values()].map(async (each) => await each.close()));
    },
  };
  try {
    const [first, ...others] = nodes;
    // Nodes that all begin at once may each find nobody to join.
    await first?.process.start();
    await Promise.all(others.map(async ({ process }) => await process.start()));
    if (count > 1 && !(await own.whole(0)))
      throw new Error(`the ${count} nodes did not form a cluster:\n${first?.process.output().slice(-4_000)}`);
    return own;
  } catch (error) {
    await own.stop();
    throw error;
  }
}

function linkKey(from: number, to: number): string {
  return `${from} ${to}`;
}

/** Opens one link in each direction between any two. */
async function linksOf(places: readonly Place[]): Promise<ReadonlyMap<string, TcpProxy>> {
  const links = new Map<string, TcpProxy>();
  for (const from of places.keys())
    for (const [to, { distribution }] of places.entries())
      if (from !== to) links.set(linkKey(from, to), await startTcpProxy([distribution]));
  return links;
}

function nodeOf(folder: string, places: readonly Place[], index: number) {
  const { name, port, distribution, mapper } = places[index] as Place;
  const home = join(folder, name);
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, '.erlang.cookie'), 'svc-tests', { mode: 0o400 });
  writeFileSync(join(home, 'plugins'), '[].\n');
  writeFileSync(join(home, 'env.conf'), '');
  writeFileSync(join(home, 'rabbit.conf'), configOf(port, places));
  const env = {
    HOME: home,
    RABBITMQ_NODENAME: `${name}@localhost`,
    RABBITMQ_NODE_IP_ADDRESS: '127.0.0.1',
    RABBITMQ_NODE_PORT: String(port),
    RABBITMQ_DIST_PORT: String(distribution),
    ERL_EPMD_PORT: String(mapper),
    ERL_EPMD_ADDRESS: '127.0.0.1',
    RABBITMQ_MNESIA_BASE: join(home, 'mnesia'),
    RABBITMQ_LOG_BASE: join(home, 'log'),
    RABBITMQ_LOGS: '-',
    RABBITMQ_ENABLED_PLUGINS_FILE: join(home, 'plugins'),
    RABBITMQ_CONFIG_FILE: join(home, 'rabbit.conf'),
    RABBITMQ_CONF_ENV_FILE: join(home, 'env.conf'),
    RABBITMQ_PID_FILE: join(home, 'pid'),
    // One scheduler that does not spin: it shares two cores with everything else.
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '+S 1:1 +sbwt none -kernel inet_dist_use_interface {127,0,0,1}',
  };
  const script = brokerScript ?? '';
  return {
    port,
    process: manageProcess({
      name: places.length === 1 ? 'broker' : `broker-node-${index}`,
      command: 'sh',
      args: ['-c', LINE, script],
      env,
      folder,
      readyPattern: /completed with \d+ plugins/,
      readyMs: READY_MS,
      leash: 'stdin',
    }),
    /** Runs `rabbitmqctl` at this node. It is false when that failed. */
    control: async (...args: readonly string[]) =>
      await runControl(join(dirname(script), 'rabbitmqctl'), ['-n', env.RABBITMQ_NODENAME, ...args], env),
  };
}

function configOf(port: number, places: readonly Place[]): string {
  const lines = [
    `listeners.tcp.default = 127.0.0.1:${port}`,
    'log.console = true',
    'log.console.level = warning',
    'log.file = false',
  ];
  if (places.length > 1) {
    lines.push(
      readFileSync(ADVICE, 'utf8'),
      'cluster_formation.peer_discovery_backend = classic_config',
      ...places.map(({ name }, i) => `cluster_formation.classic_config.nodes.${i + 1} = ${name}@localhost`),
    );
  }
  return `${lines.join('\n')}\n`;
}

async function runControl(
  script: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<boolean> {
  return await new Promise((resolve) => {
    const options = {
      env: { PATH: process.env['PATH'] ?? '', ...env, RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '' },
      timeout: CONTROL_MS,
    };
    execFile(script, [...args], options, (error) => resolve(error === null));
  });
}
