/**
 * This file keeps many subscriptions over a few channels of one connection. (The client's own Consumer takes
 * a channel each, of which there are 2,047.)
 *
 * A subscription is an exclusive queue of this connection that is declared, bound and then consumed; whatever
 * it loses, it is set up again from the beginning, so nothing at the broker has to survive. The broker closes
 * the channel on which a call fails. So queues are declared, read once and bound on other channels than those
 * that consume: one that fails costs its neighbours in the making a second try, and those that are live
 * nothing.
 *
 */
import { randomBytes } from 'node:crypto';
import type { Channel, Connection } from 'rabbitmq-client';
import { Lane } from './rabbit-lane.ts';
import type { QueueLog, Subscription } from './queue.ts';
import { CALL_TIMEOUT_MS, QueueTimeout, withinTime } from './time-limit.ts';

/** Channels that declare, and as many that consume. */
const LANES = 8;
/** Subscriptions being set up at once. */
const IN_FLIGHT_MAX = 64;
/** A subscription that failed by itself is tried again after this. */
const RETRY_MS = 2_000;
/** 60 s: a queue that was declared, but never consumed, goes by itself. */
const ARGUMENTS = { 'x-expires': 60_000 } as const;
const TELL_EVERY_MS = 5_000;
/** The client says this of calls whose channel was closed by another one. */
const CHANNEL_CLOSED = 'CH_CLOSE';

export interface QueueWanted {
  /** The beginning of the queue's name; the rest is random. */
  readonly name: string;
  readonly bindings: readonly { readonly exchange: string; readonly routingKey: string }[];
  onBody(body: unknown, routingKey: string): void;
  onLive(live: boolean): void;
}

interface Entry {
  readonly wanted: QueueWanted;
  readonly lanes: { readonly declaring: Lane; readonly consuming: Lane };
  /** The channel and consumer tag by which it is consumed. */
  at: { readonly channel: Channel; readonly tag: string } | undefined;
  stopped: boolean;
  /**
   * A name is used for one attempt after the other until it was consumed: declaring a queue twice is
   * harmless, forgetting one is not.
   */
  queue: string | undefined;
}

export interface SubscriptionsOptions {
  readonly connection: Connection;
  readonly log: QueueLog;
  readonly prepare: (channel: Channel) => Promise<void>;
}

export class Subscriptions {
  readonly #options: SubscriptionsOptions;
  readonly #entries = new Set<Entry>();
  /** What is to be set up, in this order. */
  readonly #due = new Set<Entry>();
  readonly #lanes: readonly Entry['lanes'][];
  #inFlight = 0;
  #count = 0;
  #closed = false;
  #toldMs = Number.NEGATIVE_INFINITY;
  /** Since it was told. */
  #failed = 0;

  constructor(options: SubscriptionsOptions) {
    this.#options = options;
    const { connection, prepare } = options;
    const onLost = (channel: Channel): void => this.#lost(channel);
    // The broker ends a single consumer whose queue was deleted.
    const watch = async (channel: Channel): Promise<void> =>
      void channel.on('basic.cancel', (tag: string) => this.#lost(channel, tag));
    this.#lanes = Array.from({ length: LANES }, () => ({
      declaring: new Lane({ connection, prepare }),
      consuming: new Lane({ connection, prepare: watch, onLost }),
    }));
    connection.on('connection', () => {
      // Declarations on the connection before are gone, or held by it until the broker notices.
      for (const entry of this.#due) entry.queue = undefined;
      this.#pump();
    });
    connection.on('connection.unblocked', () => this.#pump());
  }

  add(wanted: QueueWanted): Subscription {
    const lanes = this.#lanes[this.#count % LANES] as Entry['lanes'];
    const entry: Entry = { wanted, lanes, at: undefined, stopped: false, queue: undefined };
    this.#count += 1;
    this.#entries.add(entry);
    this.#due.add(entry);
    setImmediate(() => this.#pump());
    return {
      get live() {
        return entry.at !== undefined && !entry.stopped;
      },
      stop: async () => {
        entry.stopped = true;
        this.#entries.delete(entry);
        this.#due.delete(entry);
        await this.#end(entry);
      },
    };
  }

  /**
   * This sets everything up anew although the connection stands, because the broker is suspected of having
   * lost the bindings. One that does not answer may merely stand still, and keeps them.
   */
  async renew(): Promise<void> {
    try {
      await this.#lanes[0]?.declaring.call('asking for an answer', this.#options.prepare);
    } catch (error) {
      if (error instanceof QueueTimeout) return;
    }
    for (const { declaring, consuming } of this.#lanes) {
      declaring.drop();
      consuming.drop();
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    const all = this.#lanes.flatMap(({ declaring, consuming }) => [declaring, consuming]);
    await Promise.all(all.map(async (lane) => await lane.close()));
  }

  #lost(channel: Channel, tag?: string): void {
    for (const entry of this.#entries) {
      if (entry.at?.channel !== channel || (tag !== undefined && entry.at.tag !== tag)) continue;
      entry.at = undefined;
      entry.queue = undefined;
      this.#due.add(entry);
      entry.wanted.onLive(false);
    }
    this.#pump();
  }

  #pump(): void {
    for (const entry of this.#due) {
      if (this.#closed || !this.#options.connection.ready || this.#inFlight >= IN_FLIGHT_MAX) return;
      this.#due.delete(entry);
      this.#inFlight += 1;
      void this.#setUp(entry).finally(() => {
        this.#inFlight -= 1;
        this.#pump();
      });
    }
  }

  /** Does not reject. */
  async #setUp(entry: Entry): Promise<void> {
    const { connection } = this.#options;
    try {
      await this.#establish(entry);
    } catch (error) {
      if (this.#closed || entry.stopped) return;
      // Whoever merely shared the channel, or lost its connection, has nothing to wait for.
      if (isNeighbours(error) || !connection.ready) return void this.#due.add(entry);
      this.#tell(error, entry.queue);
      if (!(error instanceof QueueTimeout)) entry.queue = undefined;
      setTimeout(() => {
        if (entry.stopped) return;
        this.#due.add(entry);
        this.#pump();
      }, RETRY_MS).unref();
    }
  }

  /** Thousands may fail for one reason. */
  #tell(error: unknown, queue: string | undefined): void {
    const nowMs = performance.now();
    this.#failed += 1;
    if (nowMs - this.#toldMs < TELL_EVERY_MS) return;
    this.#options.log.warn(
      { err: error, queue, count: this.#failed },
      'queues could not be set up; trying again',
    );
    this.#toldMs = nowMs;
    this.#failed = 0;
  }

  async #establish(entry: Entry): Promise<void> {
    const { wanted, lanes } = entry;
    const queue = (entry.queue ??= `${wanted.name}.${randomBytes(6).toString('hex')}`);
    await lanes.declaring.call(`declaring ${queue}`, async (channel) => {
      await channel.queueDeclare({ queue, exclusive: true, autoDelete: true, arguments: ARGUMENTS });
      // Whoever may not consume it is told here.
      await channel.basicGet({ queue, noAck: true });
      for (const binding of wanted.bindings) await channel.queueBind({ queue, ...binding });
    });
    await lanes.consuming.call(`consuming ${queue}`, async (channel) => {
      const { consumerTag: tag } = await channel.basicConsume({ queue, noAck: true }, (message) => {
        if (!entry.stopped) wanted.onBody(readBody(message.body), message.routingKey);
      });
      if (!channel.active) throw Object.assign(new Error('the channel is closed'), { code: CHANNEL_CLOSED });
      entry.at = { channel, tag };
    });
    if (entry.stopped) await this.#end(entry);
    else if (entry.at !== undefined) wanted.onLive(true);
  }

  /** The broker deletes a queue that has lost its consumer. */
  async #end({ at }: Entry): Promise<void> {
    if (at?.channel.active !== true) return;
    try {
      await withinTime(CALL_TIMEOUT_MS, 'ending a subscription', at.channel.basicCancel(at.tag));
    } catch (error) {
      this.#options.log.warn({ err: error }, 'a subscription was not ended cleanly; its connection ends it');
    }
  }
}

/** Another call closed the channel that this one shared. */
function isNeighbours(error: unknown): boolean {
  return (error as { code?: unknown }).code === CHANNEL_CLOSED;
}

/** JSON, or undefined when it is none: anybody may publish anything. */
function readBody(body: unknown): unknown {
  if (!(body instanceof Uint8Array)) return body;
  try {
    return JSON.parse(Buffer.from(body).toString('utf8')) as unknown;
  } catch {
    return undefined; // The reader refuses it by its shape.
  }
}
