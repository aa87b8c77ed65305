/**
 * Publishes with confirms, on a connection of its own: an alarm at the broker blocks connections that publish, and must not hold up the
 * acknowledgements of those that consume.
 *
 * Messages are not persistent, although the queues of hints are durable: a broker that comes back without them meets servers that make everything that
 * waits due again (`makeAllDue` in server/engine/work/relay.ts), and writing each to disk costs the broker a third of its processor time. Control events go to queues that
 * end with their connection.
 *
 * A message to a queue that does not exist is confirmed all the same and comes back as `basic.return` just before its confirm; it is then published once
 * more after the queue was declared. At most 200 messages are unconfirmed at a time, the others wait their turn within their own 5 s.
 */
import type { Connection, Publisher } from 'rabbitmq-client';
import type { QueueDeclaration } from './names.ts';
import { QueueTimeout, withinTime } from './time-limit.ts';

export const PUBLISH_TIMEOUT_MS = 5_000;
const IN_FLIGHT_MAX = 200;
const WAITING_MAX = 10_000;
/** The client's own attempts, on a new channel each, when a channel is lost. */
const ATTEMPTS_MAX = 3;

export interface ConfirmingPublisher {
  toQueue(declaration: QueueDeclaration, body: object): Promise<void>;
  toExchange(exchange: string, routingKey: string, body: object): Promise<void>;
  close(): Promise<void>;
}

/** After the confirm, time for the client to hand out the return that came before it: it does so with `setImmediate`. */
async function nextTurn(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setImmediate(resolve));
}

export function createConfirmingPublisher(connection: Connection): ConfirmingPublisher {
  const publisher: Publisher = connection.createPublisher({ confirm: true, maxAttempts: ATTEMPTS_MAX });
  const returned = new Set<string>();
  const turns: Array<() => void> = [];
  let inFlight = 0;
  let count = 0;
  publisher.on('basic.return', (message) => {
    if (message.messageId !== undefined) returned.add(message.messageId);
  });

  const takeTurn = async (): Promise<void> => {
    if (inFlight < IN_FLIGHT_MAX) {
      inFlight += 1;
      return;
    }
    if (turns.length >= WAITING_MAX)
      throw new QueueTimeout(`${WAITING_MAX} messages wait for the broker already`);
    // Whoever ends hands its place over, so `inFlight` stays as it is.
    await new Promise<void>((resolve) => turns.push(resolve));
  };
  const endTurn = (): void => {
    const next = turns.shift();
    if (next === undefined) inFlight -= 1;
    else next();
  };
  /** Answers whether the message met a queue. */
  const send = async (
    to: { readonly exchange: string; readonly routingKey: string },
    body: object,
    mandatory: boolean,
  ): Promise<boolean> => {
    count += 1;
    const messageId = `${count}`;
    await publisher.send({ ...to, durable: false, mandatory, messageId }, Buffer.from(JSON.stringify(body)));
    if (!mandatory) return true;
    await nextTurn();
    return !returned.delete(messageId);
  };
  const limited = async (what: string, call: () => Promise<void>): Promise<void> => {
    const work = async (): Promise<void> => {
      await takeTurn();
      // A call that is given up keeps its place until the broker or the client ends it, or a blocked broker would gather calls without end.
      await call().finally(endTurn);
    };
    const running = work();
    running.catch(() => undefined); // Reported below, or given up by then.
    await withinTime(PUBLISH_TIMEOUT_MS, what, running);
  };

  return {
    toQueue: async (declaration, body) =>
      await limited(`a message to ${declaration.queue}`, async () => {
        if (await send({ exchange: '', routingKey: declaration.queue }, body, true)) return;
        await connection.queueDeclare(declaration);
        if (!(await send({ exchange: '', routingKey: declaration.queue }, body, true)))
          throw new Error(`${declaration.queue} does not take messages although it was declared`);
      }),
    toExchange: async (exchange, routingKey, body) =>
      await limited(
        `a message to ${exchange}`,
        async () => void (await send({ exchange, routingKey }, body, false)),
      ),
    close: async () => await publisher.close(),
  };
}
