/**
 * A RabbitMQ node of our own, which may be killed without anybody else noticing: own node name, ports, cookie, data and log folders, and an own port
 * mapper (epmd) that dies with it. Where no node can be started, the machine's broker is used, and is left alone.
 */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
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
  /** Takes them away under their consumers. Undefined while the broker is down. */
  deleteQueues(poolIds: readonly string[]): Promise<number | undefined>;
  /** Raises or ends the alarm that blocks every publisher; only at a node of our own. False when it did not work. */
  alarm(on: boolean): Promise<boolean>;
  /** Hints as anybody could write them. False while the broker is down. */
  publish(hints: readonly Hint[]): Promise<boolean>;
  stop(): Promise<void>;
}

export interface Hint {
  readonly poolId: string;
  readonly workId: string;
  readonly epoch: number;
}

/** The script itself: the one in the path changes the user and the environment. */
const SCRIPTS = [
  '/usr/lib/rabbitmq/bin/rabbitmq-server',
  '/opt/rabbitmq/sbin/rabbitmq-server',
  '/usr/local/sbin/rabbitmq-server',
];
/** A node needs about 6 s on an idle machine, and the rest of the tests may run beside it. */
const READY_MS = 120_000;
/** Quorum queues take three descriptors each; a node that has none left hangs without a word. */
const DESCRIPTORS = 20_000;
/** Bytes that any node uses more of: the alarm is on. And a share of the machine that it never reaches here: it is off. */
const ALARM = { on: ['absolute', '1MB'], off: ['0.6'] } as const;
const CONTROL_MS = 15_000;

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
  const env = {
    HOME: home,
    RABBITMQ_NODENAME: `svcfaults${port}@localhost`,
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
  };
  const node = manageProcess({
    name: 'broker',
    command: 'sh',
    args: ['-c', line, script],
    env,
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
  const control = async (args: readonly string[]): Promise<boolean> =>
    await runControl(join(dirname(script), 'rabbitmqctl'), ['-n', env.RABBITMQ_NODENAME, ...args], env);
  return brokerAt(`amqp://guest:guest@127.0.0.1:${port}`, node, control);
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

const queuesOf = (poolIds: readonly string[]): string[] =>
  poolIds.flatMap((id) => [`work.run.${id}`, `work.build.${id}`]);

function brokerAt(
  url: string,
  node: ManagedProcess | undefined,
  control?: (args: readonly string[]) => Promise<boolean>,
): Broker {
  /** Undefined: not reachable; what is done to a dead broker is no fault. */
  const connected = async <T>(act: (connection: Connection) => Promise<T>): Promise<T | undefined> => {
    const connection = new Connection({ url, acquireTimeout: 2_000, retryLow: 100 });
    connection.on('error', () => undefined); // The broker is down or goes down: the call below fails, and that is the answer.
    try {
      return await act(connection);
    } catch {
      return undefined;
    } finally {
      connection.unsafeDestroy();
    }
  };
  const eachQueue = async (
    poolIds: readonly string[],
    act: (connection: Connection, queue: string) => Promise<{ readonly messageCount: number }>,
    count: (messages: number) => number,
  ): Promise<number | undefined> =>
    await connected(async (connection) => {
      let total = 0;
      for (const queue of queuesOf(poolIds)) {
        try {
          total += count((await act(connection, queue)).messageCount);
        } catch (error) {
          if (!/NOT_FOUND/.test(String(error) + JSON.stringify(error))) throw error;
        }
      }
      return total;
    });
  return {
    url,
    process: node,
    purge: async (poolIds) =>
      await eachQueue(
        poolIds,
        async (connection, queue) => await connection.queuePurge({ queue }),
        (messages) => messages,
      ),
    deleteQueues: async (poolIds) =>
      await eachQueue(
        poolIds,
        async (connection, queue) => await connection.queueDelete({ queue }),
        () => 1,
      ),
    alarm: async (on) =>
      (await control?.(['set_vm_memory_high_watermark', ...(on ? ALARM.on : ALARM.off)])) ?? false,
    publish: async (hints) =>
      (await connected(async (connection) => {
        const publisher = connection.createPublisher({ confirm: true });
        for (const { poolId, workId, epoch } of hints)
          await publisher.send({ routingKey: `work.run.${poolId}` }, { workId, epoch });
        return true;
      })) ?? false,
    stop: async () => await node?.kill(),
  };
}
