/** The queue on RabbitMQ. Two connections, one to publish and one to consume, each of which comes back by itself. */
import { randomUUID } from 'node:crypto';
import { Connection, type Channel } from 'rabbitmq-client';
import { brokerAddressOf } from './address.ts';
import { declareExchanges, hintKey, namesOf, type Names } from './names.ts';
import { parseControl, parseHint } from './queue.ts';
import type { ControlEvent, QueueLog, Subscription, WorkQueue } from './queue.ts';
import { createBeacons, type Beacons } from './rabbit-beacons.ts';
import { createPublisher } from './rabbit-publisher.ts';
import { Subscriptions } from './rabbit-subscriptions.ts';
import { withinTime } from './time-limit.ts';

export interface RabbitOptions {
  /** `amqp://user:password@h1:5672,h2:5672/vhost` */
  readonly url: string;
  /** Shown in the broker's list of connections. A gateway has to hear of servers; the others are ones. */
  readonly role: 'server' | 'gateway' | 'all';
  readonly log: QueueLog;
  /** Before every name at the broker. Default: none. */
  readonly prefix?: string;
  readonly beaconEveryMs?: number;
  readonly random?: () => number;
}

const BEACON_EVERY_MS = 2_000;
const CLOSE_TIMEOUT_MS = 5_000;
const SERVER_BEACON = 'beacon.server';

const CONNECTION = {
  heartbeat: 5,
  retryLow: 200,
  retryHigh: 2_000,
  connectionTimeout: 4_000,
  acquireTimeout: 5_000,
  noDelay: true,
} as const;

export function connectRabbit({
  url,
  role,
  log,
  prefix = '',
  beaconEveryMs = BEACON_EVERY_MS,
  random = Math.random,
}: RabbitOptions): WorkQueue {
  const names = namesOf(prefix);
  const address = brokerAddressOf(url);
  const hosts = fromAnyOf(address.hosts, random);
  const open = (use: string): Connection =>
    new Connection({ ...CONNECTION, ...address, hosts, connectionName: `svc ${role} ${use}` });
  const [publishing, consuming] = [open('publish'), open('consume')];
  const prepare = async (channel: Channel): Promise<void> => await declareExchanges(channel, names);
  const publisher = createPublisher(publishing, prepare);
  const pools = new Subscriptions({ connection: consuming, log, prepare });
  /** Apart from the pools, of which there may be thousands before it. */
  const own = new Subscriptions({ connection: consuming, log, prepare });
  const control = followControl(own, names);
  const beacons = createBeacons({
    everyMs: beaconEveryMs,
    log,
    isConnected: () => control.isLive() && publishing.ready && consuming.ready,
    send: async () =>
      await Promise.all([
        publisher.send({ exchange: names.work, routingKey: control.beaconKey }, {}),
        role !== 'gateway' && publisher.send({ exchange: names.control, routingKey: SERVER_BEACON }, {}),
      ]),
    onSilence: (of) => {
      void own.renew();
      if (of === 'own') void pools.renew();
    },
  });
  control.begin(beacons);
  for (const connection of [publishing, consuming]) followConnection(connection, beacons);

  return {
    hint: async ({ workId, poolId, kind, epoch }) =>
      await publisher.send({ exchange: names.work, routingKey: hintKey(kind, poolId) }, { workId, epoch }),
    subscribe: (poolId, kind, { onHint, onLive }) =>
      pools.add({
        name: `${names.work}.${kind}.${poolId}`,
        bindings: [{ exchange: names.work, routingKey: hintKey(kind, poolId) }],
        onBody: (body) => {
          const hint = parseHint(body, poolId, kind);
          if (hint === undefined) log.warn({ poolId, kind }, 'a message that is no hint was thrown away');
          else onHint(hint);
        },
        onLive,
      }),
    publishControl: async (event) => {
      control.tellHere(event);
      const { origin } = control;
      await publisher.send({ exchange: names.control, routingKey: event.type }, { ...event, origin });
    },
    onControl: control.listen,
    get up() {
      return beacons.up;
    },
    onUp: beacons.onUp,
    close: async () => {
      beacons.stop();
      const orderly = async (): Promise<void> => {
        await Promise.all([pools.close(), own.close(), publisher.close()]);
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

/** In turn from any of them on, so that the processes spread over the nodes. The client takes the next one at each try. */
function fromAnyOf(hosts: readonly string[], random: () => number): string[] {
  const first = Math.floor(random() * hosts.length);
  return [...hosts.slice(first), ...hosts.slice(0, first)];
}

/** The queue of this process: control events, the servers' beacons and its own. */
function followControl(subscriptions: Subscriptions, names: Names) {
  /** Marks this process's own events, which it hears at once and not a second time. */
  const origin = randomUUID();
  const beaconKey = `beacon.${origin}`;
  const listeners = new Set<(event: ControlEvent) => void>();
  const tellHere = (event: ControlEvent): void => {
    for (const listener of listeners) listener(event);
  };
  const onBody = (body: unknown): void => {
    if ((body as { origin?: unknown } | null | undefined)?.origin === origin) return;
    const event = parseControl(body);
    if (event !== undefined) tellHere(event);
  };
  let subscription: Subscription | undefined;
  return {
    origin,
    beaconKey,
    isLive: () => subscription?.live === true,
    tellHere,
    listen: (listener: (event: ControlEvent) => void) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    begin: (beacons: Beacons) => {
      subscription = subscriptions.add({
        name: names.control,
        bindings: [
          { exchange: names.control, routingKey: '#' },
          { exchange: names.work, routingKey: beaconKey },
        ],
        onBody: (body, routingKey) => {
          if (routingKey === beaconKey) beacons.heard('own');
          else if (routingKey === SERVER_BEACON) beacons.heard('server');
          else onBody(body);
        },
        onLive: (live) => {
          if (live) beacons.prove();
          else beacons.doubt(new Error('notices of other processes are not received at the moment'));
        },
      });
    },
  };
}

function followConnection(connection: Connection, { prove, doubt }: Beacons): void {
  connection.on('connection', prove);
  connection.on('connection.unblocked', prove);
  // Also errors of single channels come this way: down only if the connection is.
  connection.on('error', (error: unknown) => {
    if (!connection.ready) doubt(error);
  });
  connection.on('connection.blocked', (reason: unknown) =>
    doubt(new Error(`the broker blocks publishers: ${String(reason)}`)),
  );
}
