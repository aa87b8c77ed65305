/**
 * The queue on RabbitMQ. Two connections, one to publish and one to consume, each of which comes back by itself.
 *
 * `up` is a promise to those who wait for hints, so it is believed only while it is proven: each process publishes a probe every 2 s, and a broker that
 * blocks publishers, hangs or is gone counts as down until a probe is confirmed again. (A blocked or frozen broker keeps its connections
 * open; nothing else would tell.)
 */
import { randomUUID } from 'node:crypto';
import { Connection } from 'rabbitmq-client';
import { controlExchange, workQueue } from './names.ts';
import { parseControl, parseHint } from './queue.ts';
import type { ControlEvent, QueueLog, WorkQueue } from './queue.ts';
import { createConsumerHub, readBody } from './rabbit-consumers.ts';
import { createConfirmingPublisher } from './rabbit-publisher.ts';
import { withinTime } from './time-limit.ts';

export interface RabbitOptions {
  /** `amqp://user:password@host:5672/vhost` */
  readonly url: string;
  /** Shown in the broker's list of connections. */
  readonly role: 'server' | 'gateway' | 'all';
  readonly log: QueueLog;
  /** Quorum queues, for a cluster of three and more. Default: classic. */
  readonly quorum?: boolean;
  /** Before every name at the broker. Default: none. */
  readonly prefix?: string;
  readonly probeEveryMs?: number;
}

const PROBE_EVERY_MS = 2_000;
const PROBE_TIMEOUT_MS = 2_000;
const CLOSE_TIMEOUT_MS = 5_000;

const CONNECTION = {
  heartbeat: 10,
  retryLow: 200,
  retryHigh: 2_000,
  connectionTimeout: 10_000,
  acquireTimeout: 5_000,
  noDelay: true,
} as const;

export function connectRabbit(options: RabbitOptions): WorkQueue {
  const { log, quorum = false, prefix = '' } = options;
  const open = (use: string): Connection =>
    new Connection({ ...CONNECTION, url: options.url, connectionName: `svc ${options.role} ${use}` });
  const publishing = open('publish');
  const consuming = open('consume');
  const publisher = createConfirmingPublisher(publishing);
  const hub = createConsumerHub(consuming, log);
  const control = followControl(consuming, controlExchange(prefix), (error) => {
    log.warn({ err: error }, 'notices of other processes are not received at the moment');
    state.doubt(error);
  });
  const state = watch([publishing, consuming], control.isReady, log);

  const probe = async (): Promise<void> => {
    const mark = state.begin();
    await withinTime(PROBE_TIMEOUT_MS, 'the probe', publisher.toExchange('', `${prefix}probe`, {}));
    state.proven(mark);
  };
  const probing = setInterval(() => {
    if (state.connected()) probe().catch((error: unknown) => state.doubt(error));
    else state.doubt(undefined);
  }, options.probeEveryMs ?? PROBE_EVERY_MS);
  probing.unref();
  state.onConnected(() => void probe().catch((error: unknown) => state.doubt(error)));

  return {
    hint: async ({ workId, poolId, kind, epoch }) =>
      await publisher.toQueue(workQueue({ prefix, quorum }, kind, poolId), { workId, epoch }),
    consume: async (poolId, kind, onHint) =>
      await hub.consume(workQueue({ prefix, quorum }, kind, poolId), async (body) => {
        const hint = parseHint(body, poolId, kind);
        if (hint === undefined) log.warn({ poolId, kind }, 'a message that is no hint was thrown away');
        else await onHint(hint);
      }),
    publishControl: async (event) => {
      control.tellHere(event);
      await publisher.toExchange(controlExchange(prefix), event.type, { ...event, origin: control.origin });
    },
    onControl: control.listen,
    get up() {
      return state.up();
    },
    onUp: state.listen,
    close: async () => {
      clearInterval(probing);
      state.close();
      const orderly = async (): Promise<void> => {
        await Promise.all([hub.close(), control.close(), publisher.close()]);
        await Promise.all([publishing.close(), consuming.close()]);
      };
      await withinTime(CLOSE_TIMEOUT_MS, 'closing', orderly()).catch((error: unknown) => {
        log.warn({ err: error }, 'the connections to the broker were cut');
        publishing.unsafeDestroy();
        consuming.unsafeDestroy();
      });
    },
  };
}

interface Control {
  /** Marks this process's own events, which it hears at once and not a second time. */
  readonly origin: string;
  isReady(): boolean;
  tellHere(event: ControlEvent): void;
  listen(listener: (event: ControlEvent) => void): () => void;
  close(): Promise<void>;
}

/**
 * One exclusive queue of this process on the control exchange; the client sets it up again after a lost connection. Until then it is not ready, and the
 * whole queue counts as down: who hears `up` again knows that notices may have been missed.
 */
function followControl(connection: Connection, exchange: string, onLost: (error: unknown) => void): Control {
  const origin = randomUUID();
  const listeners = new Set<(event: ControlEvent) => void>();
  let ready = false;
  const tellHere = (event: ControlEvent): void => {
    for (const listener of listeners) listener(event);
  };
  const consumer = connection.createConsumer(
    {
      queue: '',
      noAck: true,
      queueOptions: { exclusive: true, autoDelete: true },
      exchanges: [{ exchange, type: 'topic', durable: true }],
      queueBindings: [{ exchange, routingKey: '#' }],
    },
    (message) => {
      const body = readBody(message.body);
      if ((body as { origin?: unknown } | null | undefined)?.origin === origin) return;
      const event = parseControl(body);
      if (event !== undefined) tellHere(event);
    },
  );
  consumer.on('ready', () => {
    ready = true;
  });
  consumer.on('error', (error: unknown) => {
    ready = false;
    onLost(error);
  });
  // A lost connection takes the consumer with it and says so only here.
  connection.on('error', () => {
    if (!connection.ready) ready = false;
  });
  return {
    origin,
    isReady: () => ready,
    tellHere,
    listen: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    close: async () => await consumer.close(),
  };
}

/** Whether hints can be expected, and who wants to know. */
function watch(connections: readonly Connection[], isReady: () => boolean, log: QueueLog) {
  const listeners = new Set<(up: boolean) => void>();
  const connectedListeners = new Set<() => void>();
  let up = false;
  let closed = false;
  /** Rises with every loss, so that a probe from before it proves nothing. */
  let losses = 0;
  const connected = (): boolean => connections.every((connection) => connection.ready);
  const set = (now: boolean, reason: unknown): void => {
    if (!now) losses += 1;
    if (up === now || closed) return;
    up = now;
    if (now) log.info({}, 'the broker is up');
    else log.warn({ err: reason }, 'the broker is down; work is claimed without hints');
    for (const listener of listeners) listener(now);
  };
  for (const connection of connections) {
    connection.on('connection', () => {
      if (connected()) for (const listener of connectedListeners) listener();
    });
    // Also errors of single channels come this way: down only if the connection is.
    connection.on('error', (error: unknown) => {
      if (!connection.ready) set(false, error);
    });
    connection.on('connection.blocked', (reason: unknown) =>
      set(false, new Error(`the broker blocks publishers: ${String(reason)}`)),
    );
    connection.on('connection.unblocked', () => {
      for (const listener of connectedListeners) listener();
    });
  }
  return {
    up: () => up,
    connected,
    begin: () => losses,
    proven: (mark: number) => {
      if (mark === losses && connected() && isReady()) set(true, undefined);
    },
    doubt: (reason: unknown) => set(false, reason),
    onConnected: (listener: () => void) => void connectedListeners.add(listener),
    listen: (listener: (up: boolean) => void) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    close: () => {
      closed = true;
      up = false;
    },
  };
}
