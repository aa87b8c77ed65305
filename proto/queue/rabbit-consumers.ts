/**
 * Consumes many queues over a few channels. (The client's own Consumer takes a channel each, of which there are 2,047, and subscribes again after a
 * lost connection only when its running handlers are done.)
 *
 * A subscription belongs to one lane, a lane is one channel. When the channel is lost the lane opens another one and subscribes all of its own again. A
 * delivery is acknowledged on the channel that brought it, as soon as its handler settles; when that channel is gone, the broker
 * delivers it once more, which costs one lost claim.
 */
import type { AsyncMessage, Channel, Connection } from 'rabbitmq-client';
import type { QueueDeclaration } from './names.ts';
import type { Consumer, QueueLog } from './queue.ts';
import { withinTime } from './time-limit.ts';

const LANES = 16;
/** Deliveries of one queue handled at once. */
const PREFETCH = 8;
const CALL_TIMEOUT_MS = 5_000;
const REOPEN_MS = 250;
/** A queue that cannot be subscribed is tried again after this. */
const RETRY_MS = 2_000;

interface Subscription {
  readonly declaration: QueueDeclaration;
  readonly handle: (body: unknown) => Promise<void>;
  readonly running: Set<Promise<void>>;
  /** Channel and tag while it is subscribed. */
  at: { readonly channel: Channel; readonly tag: string } | undefined;
  /** The queue stands at the broker with other arguments: it is taken as it is. */
  passive: boolean;
  subscribing: boolean;
  stopped: boolean;
}

export interface ConsumerHub {
  consume(declaration: QueueDeclaration, handle: (body: unknown) => Promise<void>): Promise<Consumer>;
  close(): Promise<void>;
}

export function createConsumerHub(connection: Connection, log: QueueLog): ConsumerHub {
  const lanes = Array.from({ length: LANES }, () => new Lane(connection, log));
  let next = 0;
  return {
    consume: async (declaration, handle) => {
      const subscription: Subscription = {
        declaration,
        handle,
        running: new Set(),
        at: undefined,
        passive: false,
        subscribing: false,
        stopped: false,
      };
      const lane = lanes[next % LANES];
      next += 1;
      if (lane === undefined) throw new Error(`no lane ${next % LANES} of ${LANES}`);
      await lane.add(subscription);
      return { stop: async () => await lane.remove(subscription) };
    },
    close: async () => void (await Promise.all(lanes.map(async (lane) => await lane.close()))),
  };
}

class Lane {
  readonly #connection: Connection;
  readonly #log: QueueLog;
  readonly #subscriptions = new Set<Subscription>();
  #opening: Promise<Channel> | undefined;
  #channel: Channel | undefined;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(connection: Connection, log: QueueLog) {
    this.#connection = connection;
    this.#log = log;
  }

  async add(subscription: Subscription): Promise<void> {
    this.#subscriptions.add(subscription);
    // While the broker is down the subscription waits for it; the caller need not.
    if (this.#connection.ready) await this.#subscribe(subscription);
    else this.#again(REOPEN_MS);
  }

  async remove(subscription: Subscription): Promise<void> {
    subscription.stopped = true;
    this.#subscriptions.delete(subscription);
    const { at } = subscription;
    subscription.at = undefined;
    if (at?.channel.active === true) {
      await withinTime(
        CALL_TIMEOUT_MS,
        `cancelling ${subscription.declaration.queue}`,
        at.channel.basicCancel(at.tag),
      ).catch((error: unknown) =>
        this.#log.warn({ err: error }, 'a consumer was not cancelled cleanly; its channel ends it'),
      );
      // Deliveries that came before the answer are handed out by the client in the next turn.
      await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.allSettled(subscription.running);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await Promise.all([...this.#subscriptions].map(async (subscription) => await this.remove(subscription)));
    await this.#channel?.close();
  }

  /** Subscribes what is not subscribed, after a pause. */
  #again(ms: number): void {
    if (this.#closed || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (!this.#connection.ready) return this.#again(REOPEN_MS);
      for (const subscription of this.#subscriptions)
        if (subscription.at === undefined) void this.#subscribe(subscription);
    }, ms);
    this.#timer.unref();
  }

  async #open(): Promise<Channel> {
    if (this.#channel?.active === true) return this.#channel;
    this.#opening ??= this.#acquire().finally(() => {
      this.#opening = undefined;
    });
    return await this.#opening;
  }

  async #acquire(): Promise<Channel> {
    const channel = await withinTime(
      CALL_TIMEOUT_MS,
      'opening a channel',
      this.#connection.acquire({ emitErrorsFromChannel: true }),
    );
    channel.on('error', (error: unknown) => this.#log.warn({ err: error }, 'a channel to the broker failed'));
    channel.once('close', () => this.#lost(channel));
    channel.on('basic.cancel', (tag: string) => this.#cancelled(channel, tag));
    await withinTime(
      CALL_TIMEOUT_MS,
      'setting the prefetch',
      channel.basicQos({ prefetchCount: PREFETCH, global: false }),
    );
    this.#channel = channel;
    return channel;
  }

  #lost(channel: Channel): void {
    for (const subscription of this.#subscriptions)
      if (subscription.at?.channel === channel) subscription.at = undefined;
    if (this.#channel === channel) this.#channel = undefined;
    if (this.#subscriptions.size > 0) this.#again(REOPEN_MS);
  }

  /** The broker ended one consumer: its queue was deleted. */
  #cancelled(channel: Channel, tag: string): void {
    for (const subscription of this.#subscriptions) {
      if (subscription.at?.channel === channel && subscription.at.tag === tag) subscription.at = undefined;
    }
    this.#again(0);
  }

  /** Does not reject: what fails is tried again. */
  async #subscribe(subscription: Subscription): Promise<void> {
    const { queue } = subscription.declaration;
    if (subscription.subscribing || subscription.at !== undefined) return;
    subscription.subscribing = true;
    try {
      const channel = await this.#open();
      if (subscription.stopped) return;
      const declaration = subscription.passive ? { queue, passive: true } : subscription.declaration;
      await withinTime(CALL_TIMEOUT_MS, `declaring ${queue}`, channel.queueDeclare(declaration));
      const tag = await withinTime(CALL_TIMEOUT_MS, `consuming ${queue}`, this.#begin(channel, subscription));
      if (subscription.stopped) await channel.basicCancel(tag);
      else if (channel.active) subscription.at = { channel, tag };
      else this.#again(REOPEN_MS);
    } catch (error) {
      if ((error as { code?: unknown }).code === 'PRECONDITION_FAILED') subscription.passive = true;
      this.#log.warn({ err: error, queue }, 'a queue could not be consumed; trying again');
      this.#again(subscription.passive ? REOPEN_MS : RETRY_MS);
    } finally {
      subscription.subscribing = false;
    }
  }

  async #begin(channel: Channel, subscription: Subscription): Promise<string> {
    const { consumerTag } = await channel.basicConsume(
      { queue: subscription.declaration.queue },
      (message) => {
        const done = this.#deliver(channel, subscription, message);
        subscription.running.add(done);
        void done.finally(() => subscription.running.delete(done));
      },
    );
    return consumerTag;
  }

  async #deliver(
    channel: Channel,
    { handle, declaration: { queue } }: Subscription,
    message: AsyncMessage,
  ): Promise<void> {
    try {
      await handle(readBody(message.body));
    } catch (error) {
      // The hint is used up all the same: the item's row is what counts, and it is hinted again.
      this.#log.warn({ err: error, queue }, 'a hint was not handled');
    }
    // Ack after claim: only now, and on the channel that brought it.
    if (channel.active) channel.basicAck({ deliveryTag: message.deliveryTag });
  }
}

/** JSON, or undefined when it is none: anybody may publish anything. */
export function readBody(body: unknown): unknown {
  if (!(body instanceof Uint8Array)) return body;
  try {
    return JSON.parse(Buffer.from(body).toString('utf8')) as unknown;
  } catch {
    return undefined; // The reader refuses it by its shape.
  }
}
