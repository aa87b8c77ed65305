/**
 * This file is the queue on RabbitMQ. It has two connections, one to publish and one to consume, each of
 * which comes back by itself.
 */
import { randomUUID } from 'node:crypto';
import { Connection, type Channel } from 'rabbitmq-client';
import { brokerAddressOf } from './address.ts';
import { declareExchanges, hintKey, namesOf, type Names } from './names.ts';
import {
  parseControl,
  parseHint,
  type ControlEvent,
  type HintListener,
  type QueueLog,
  type Subscription,
  type WorkHint,
  type WorkKind,
  type WorkQueue,
} from './queue.ts';
import { createBeacons, type Beacons } from './rabbit-beacons.ts';
import { createPublisher, type Publisher } from './rabbit-publisher.ts';
import { Subscriptions } from './rabbit-subscriptions.ts';
import { CALL_TIMEOUT_MS, withinTime } from './time-limit.ts';

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
const SERVER_BEACON = 'beacon.server';

const CONNECTION = {
  heartbeat: 5,
  retryLow: 200,
  retryHigh: 2_000,
  connectionTimeout: 4_000,
  acquireTimeout: 5_000,
  noDelay: true,
} as const;

export function connectRabbit(options: RabbitOptions): WorkQueue {
  return new RabbitQueue(options);
}

class RabbitQueue implements WorkQueue {
  readonly #log: QueueLog;
  readonly #names: Names;
  readonly #connections: { readonly publishing: Connection; readonly consuming: Connection };
  readonly #publisher: Publisher;
  readonly #pools: Subscriptions;
  /** The process's own queue, apart from the pools, of which there may be thousands before it. */
  readonly #own: Subscriptions;
  readonly #control: Subscription;
  readonly #beacons: Beacons;
  /** Marks this process's own events, which it hears at once and not a second time. */
  readonly #origin = randomUUID();
  readonly #beaconKey = `beacon.${this.#origin}`;
  readonly #listeners = new Set<(event: ControlEvent) => void>();

  constructor({ log, role, prefix = '', beaconEveryMs: everyMs = BEACON_EVERY_MS, ...where }: RabbitOptions) {
    this.#log = log;
    this.#names = namesOf(prefix);
    const open = opener(where, role);
    const [publishing, connection] = [open('publish'), open('consume')];
    const prepare = async (channel: Channel): Promise<void> => await declareExchanges(channel, this.#names);
    this.#connections = { publishing, consuming: connection };
    this.#publisher = createPublisher(publishing, prepare);
    this.#pools = new Subscriptions({ connection, log, prepare });
    this.#own = new Subscriptions({ connection, log, prepare });
    this.#beacons = createBeacons({
      everyMs,
      log,
      isConnected: () => this.#control.live && publishing.ready && connection.ready,
      send: async () =>
        await Promise.all([
          this.#send(this.#names.work, this.#beaconKey, {}),
          role !== 'gateway' && this.#send(this.#names.control, SERVER_BEACON, {}),
        ]),
      onSilence: (of) => {
        void this.#own.renew();
        if (of === 'own') void this.#pools.renew();
      },
    });
    this.#control = this.#own.add({
      name: this.#names.control,
      bindings: [
        { exchange: this.#names.control, routingKey: '#' },
        { exchange: this.#names.work, routingKey: this.#beaconKey },
      ],
      onBody: (body, routingKey) => this.#hear(body, routingKey),
      onLive: (live) => {
        if (live) this.#beacons.prove();
        else this.#beacons.doubt(new Error('notices of other processes are not received at the moment'));
      },
    });
    for (const each of [publishing, connection]) follow(each, this.#beacons);
  }

  async hint({ workId, poolId, kind, count }: WorkHint): Promise<void> {
    await this.#send(this.#names.work, hintKey(kind, poolId), { workId, count });
  }

  subscribe(poolId: string, kind: WorkKind, { onHint, onLive }: HintListener): Subscription {
    return this.#pools.add({
      name: `${this.#names.work}.${kind}.${poolId}`,
      bindings: [{ exchange: this.#names.work, routingKey: hintKey(kind, poolId) }],
      onBody: (body) => {
        const hint = parseHint(body, poolId, kind);
        if (hint === undefined) this.#log.warn({ poolId, kind }, 'a message that is no hint was thrown away');
        else onHint(hint);
      },
      onLive,
    });
  }

  async publishControl(event: ControlEvent): Promise<void> {
    for (const listener of this.#listeners) listener(event);
    await this.#send(this.#names.control, event.type, { ...event, origin: this.#origin });
  }

  onControl(listener: (event: ControlEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  get up(): boolean {
    return this.#beacons.up;
  }

  onUp(listener: (up: boolean) => void): () => void {
    return this.#beacons.onUp(listener);
  }

  async close(): Promise<void> {
    const { publishing, consuming } = this.#connections;
    this.#beacons.stop();
    const orderly = async (): Promise<void> => {
      await Promise.all([this.#pools.close(), this.#own.close(), this.#publisher.close()]);
      await Promise.all([publishing.close(), consuming.close()]);
    };
    await withinTime(CALL_TIMEOUT_MS, 'closing', orderly()).catch((error: unknown) => {
      this.#log.warn({ err: error }, 'the connections to the broker were cut');
      publishing.unsafeDestroy();
      consuming.unsafeDestroy();
    });
  }

  async #send(exchange: string, routingKey: string, body: object): Promise<void> {
    await this.#publisher.send({ exchange, routingKey }, body);
  }

  #hear(body: unknown, routingKey: string): void {
    if (routingKey === this.#beaconKey) return this.#beacons.heard('own');
    if (routingKey === SERVER_BEACON) return this.#beacons.heard('server');
    if ((body as { origin?: unknown } | null | undefined)?.origin === this.#origin) return;
    const event = parseControl(body);
    if (event !== undefined) for (const listener of this.#listeners) listener(event);
  }
}

/**
 * Nodes are taken in turn from any of them on, so that the processes spread over them; the client takes the
 * next one at each try.
 */
function opener({ url, random = Math.random }: Pick<RabbitOptions, 'url' | 'random'>, role: string) {
  const address = brokerAddressOf(url);
  const first = Math.floor(random() * address.hosts.length);
  const hosts = [...address.hosts.slice(first), ...address.hosts.slice(0, first)];
  return (use: string): Connection =>
    new Connection({ ...CONNECTION, ...address, hosts, connectionName: `svc ${role} ${use}` });
}

function follow(connection: Connection, { prove, doubt }: Beacons): void {
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
