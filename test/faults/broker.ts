/**
 * The RabbitMQ of the fault tests: nodes of our own, one or a cluster, which may be killed, frozen and cut
 * off without anybody else noticing. Where no node can be started, the machine's broker is used, and is left
 * alone.
 */
import { Connection } from 'rabbitmq-client';
import { brokerScript, startBrokerNodes, type BrokerNodes } from '../setup/broker-nodes.ts';
import { AMQP_URL } from '../setup/needs.ts';

export type Broker = ReturnType<typeof brokerAt>;

export interface Hint {
  readonly poolId: string;
  readonly workId: string;
  readonly count: number;
}

/**
 * Bytes that any node uses more of: the alarm is on. And a share of the machine that it never reaches here:
 * it is off.
 */
const ALARM = { on: ['absolute', '1MB'], off: ['0.6'] } as const;

export async function startBroker(folder: string, count: number): Promise<Broker> {
  try {
    if (brokerScript === undefined) throw new Error('no rabbitmq-server on this machine');
    // There are no links of a single node, and all of a cluster's can be cut.
    return brokerAt(AMQP_URL, await startBrokerNodes(folder, { count, links: count > 1 }));
  } catch (error) {
    console.warn(
      `no broker of our own: ${error instanceof Error ? error.message : String(error)}\nusing the machine's, which is left alone`,
    );
    return brokerAt(AMQP_URL, undefined);
  }
}

function brokerAt(machines: string, own: BrokerNodes | undefined) {
  const ports = own?.nodes.map(({ port }) => port) ?? [Number(new URL(machines).port || '5672')];
  const login = own === undefined ? new URL(machines).href.replace(/@.*/, '') : 'amqp://guest:guest';
  /** Returns the same login at other ports of this machine. */
  const urlAt = (at: readonly number[]): string =>
    `${login}@${at.map((port) => `127.0.0.1:${port}`).join(',')}`;
  /** Returns undefined where the node is not reachable, because what is done to a dead broker is no fault. */
  const connected = async <T>(act: (connection: Connection) => Promise<T>): Promise<T | undefined> => {
    const connection = new Connection({
      url: urlAt(ports.slice(0, 1)),
      acquireTimeout: 2_000,
      retryLow: 100,
    });
    connection.on('error', () => undefined); // The broker is down or goes down: the call below fails, and that is the answer.
    try {
      return await act(connection);
    } catch {
      return undefined;
    } finally {
      connection.unsafeDestroy();
    }
  };
  return {
    /** Ports of the nodes, which are all on this machine, are in order. */
    ports,
    urlAt,
    /** It is undefined for the machine's own, which may not be touched. */
    own,
    /** Takes away the exchanges, and with them every binding. False while the broker is down. */
    deleteExchanges: async () =>
      (await connected(async (connection) => {
        for (const exchange of ['work', 'ctl']) await connection.exchangeDelete({ exchange });
        return true;
      })) ?? false,
    /**
     * Raises or ends the alarm that blocks every publisher; only at nodes of our own. False when it did not
     * work.
     */
    alarm: async (on: boolean) =>
      (await own?.nodes[0]?.control('set_vm_memory_high_watermark', ...(on ? ALARM.on : ALARM.off))) ?? false,
    /** Publishes hints as anybody could write them. False while the broker is down. */
    publish: async (hints: readonly Hint[]) =>
      (await connected(async (connection) => {
        const publisher = connection.createPublisher({ confirm: true });
        for (const { poolId, workId, count } of hints)
          await publisher.send({ exchange: 'work', routingKey: `run.${poolId}` }, { workId, count });
        return true;
      })) ?? false,
    stop: async () => await own?.stop(),
  };
}
