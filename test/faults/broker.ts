/**
 * A RabbitMQ node of our own, which may be killed without anybody else noticing: own node name, ports, cookie, data and log folders, and an own port
 * mapper (epmd) that dies with it. Where no node can be started, the machine's broker is used, and is left alone.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Connection } from 'rabbitmq-client';
import { AMQP_URL } from '../setup/needs.ts';
import { freePorts } from './free-ports.ts';
import { manageProcess } from './managed-process.ts';
import type { ManagedProcess } from './managed-process.ts';

export interface Broker {
  readonly url: string;
  /** Undefined for the machine's own: it may not be killed. */
  readonly process: ManagedProcess | undefined;
  /** Empties the work queues of these pools. Resolves with how many messages were thrown away; undefined while the broker is down. */
  purge(poolIds: readonly string[]): Promise<number | undefined>;
  stop(): Promise<void>;
}

/** The script itself: the one in the path changes the user and the environment. */
const SCRIPTS = [
  '/usr/lib/rabbitmq/bin/rabbitmq-server',
  '/opt/rabbitmq/sbin/rabbitmq-server',
  '/usr/local/sbin/rabbitmq-server',
];
/** A node needs about 6 s on an idle machine, and the rest of the tests may run beside it. */
const READY_MS = 60_000;
/** Quorum queues take three descriptors each; a node that has none left hangs without a word. */
const DESCRIPTORS = 20_000;

export async function startBroker(folder: string): Promise<Broker> {
  const script = SCRIPTS.find((path) => existsSync(path));
  if (script === undefined) {
    console.warn(
      `no rabbitmq-server at ${SCRIPTS.join(', ')}: using the machine's broker, which is not killed`,
    );
    return brokerAt(AMQP_URL, undefined);
  }
  const home = join(folder, 'broker');
  mkdirSync(home, { recursive: true });
  const [port, distribution, mapper] = await freePorts(3);
  writeFileSync(join(home, 'plugins'), '[].\n');
  writeFileSync(join(home, 'env.conf'), '');
  writeFileSync(
    join(home, 'rabbit.conf'),
    `listeners.tcp.default = 127.0.0.1:${port}\nlog.console = true\nlog.console.level = warning\nlog.file = false\n`,
  );
  // A shell that reads the leash: when it ends, or when it is killed with its group, mapper and node end with it.
  const line = `ulimit -n ${DESCRIPTORS}; epmd -port ${mapper} -address 127.0.0.1 </dev/null & "$0" </dev/null & read -r leash; kill -KILL 0`;
  const node = manageProcess({
    name: 'broker',
    command: 'sh',
    args: ['-c', line, script],
    env: {
      HOME: home,
      RABBITMQ_NODENAME: `svcfaults${process.pid}@localhost`,
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
      RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '+S 1:1 +sbwt none',
    },
    folder,
    readyPattern: /completed with \d+ plugins/,
    readyMs: READY_MS,
    leash: 'stdin',
  });
  try {
    await node.start();
  } catch (error) {
    await node.kill();
    console.warn(
      `no broker of our own: ${error instanceof Error ? error.message : String(error)}\nusing the machine's, which is not killed`,
    );
    return brokerAt(AMQP_URL, undefined);
  }
  return brokerAt(`amqp://guest:guest@127.0.0.1:${port}`, node);
}

function brokerAt(url: string, node: ManagedProcess | undefined): Broker {
  return {
    url,
    process: node,
    purge: async (poolIds) => {
      const connection = new Connection({ url, acquireTimeout: 2_000, retryLow: 100 });
      connection.on('error', () => undefined); // The broker is down or goes down: the call below fails, and that is the answer.
      try {
        let purged = 0;
        for (const queue of poolIds.flatMap((id) => [`work.run.${id}`, `work.build.${id}`])) {
          const { messageCount } = await connection.queuePurge({ queue }).catch((error: unknown) => {
            if (/NOT_FOUND/.test(String(error) + JSON.stringify(error))) return { messageCount: 0 };
            throw error;
          });
          purged += messageCount;
        }
        return purged;
      } catch {
        return undefined; // Not reachable: a purge of a dead broker is no fault.
      } finally {
        connection.unsafeDestroy();
      }
    },
    stop: async () => await node?.kill(),
  };
}
