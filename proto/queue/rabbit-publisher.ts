/**
 * Publishes with confirms, on a connection of its own: an alarm at the broker blocks connections that
 * publish, and must not hold up those that consume.
 *
 * Messages are neither persistent nor mandatory: they go to queues that end with their connection. One
 * channel serves all pools, so one failed message must not cost the others. A broker can refuse all messages
 * on a channel for good after one of them met a queue that was dying: whenever one is not confirmed, those
 * that follow take a new channel. One that failed by itself, or because its channel was closed over another
 * one, is published once more there.
 */
import type { Channel, Connection } from 'rabbitmq-client';
import { Lane } from './rabbit-lane.ts';
import { CALL_TIMEOUT_MS, QueueTimeout, withinTime } from './time-limit.ts';

/** Messages that are not confirmed yet. */
const UNDER_WAY_MAX = 10_000;

export interface Publisher {
  /** Rejects after 5 s, also when there is no connection by then. */
  send(to: { readonly exchange: string; readonly routingKey: string }, body: object): Promise<void>;
  close(): Promise<void>;
}

export function createPublisher(
  connection: Connection,
  prepare: (channel: Channel) => Promise<void>,
): Publisher {
  const lane = new Lane({
    connection,
    prepare: async (channel) => {
      await prepare(channel);
      await channel.confirmSelect();
    },
  });
  let underWay = 0;
  const publish = async (envelope: object, body: Buffer): Promise<void> => {
    const channel = await lane.channel();
    try {
      await withinTime(CALL_TIMEOUT_MS, 'a message', channel.basicPublish(envelope, body));
    } catch (error) {
      // A broker that blocks publishers will take what is on the channel later.
      if (connection.ready) lane.retire(channel);
      throw error;
    }
  };
  const twice = async (envelope: object, body: Buffer): Promise<void> => {
    try {
      await publish(envelope, body);
    } catch (error) {
      if (error instanceof QueueTimeout) throw error;
      await publish(envelope, body);
    }
  };
  return {
    send: async ({ exchange, routingKey }, body) => {
      if (underWay >= UNDER_WAY_MAX)
        throw new QueueTimeout(`${underWay} messages wait for the broker already, limit ${UNDER_WAY_MAX}`);
      underWay += 1;
      const sending = twice({ exchange, routingKey, durable: false }, Buffer.from(JSON.stringify(body)));
      sending.catch(() => undefined).finally(() => (underWay -= 1));
      await withinTime(CALL_TIMEOUT_MS, `a message to ${exchange}`, sending);
    },
    close: async () => await lane.close(),
  };
}
