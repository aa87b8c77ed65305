/** One channel that is opened when it is first needed, and again after it was lost. */
import type { Channel, Connection } from 'rabbitmq-client';
import { CALL_TIMEOUT_MS, withinTime } from './time-limit.ts';

export interface LaneOptions {
  readonly connection: Connection;
  /** Runs on each new channel before anybody uses it. */
  readonly prepare: (channel: Channel) => Promise<void>;
  /** A channel is lost, with all that was on it; not after `close`. */
  readonly onLost?: (channel: Channel) => void;
}

export class Lane {
  readonly #options: LaneOptions;
  #opening: Promise<Channel> | undefined;
  #channel: Channel | undefined;

  constructor(options: LaneOptions) {
    this.#options = options;
  }

  /** It rejects after 5 s. */
  async channel(): Promise<Channel> {
    if (this.#channel?.active === true) return this.#channel;
    this.#opening ??= withinTime(CALL_TIMEOUT_MS, 'opening a channel', this.#open()).finally(() => {
      this.#opening = undefined;
    });
    return await this.#opening;
  }

  /**
   * Calls on the channel, within 5 s. One that is not answered condemns its channel: the client puts later
   * calls behind it.
   */
  async call<T>(what: string, call: (channel: Channel) => Promise<T>): Promise<T> {
    const channel = await this.channel();
    try {
      return await withinTime(CALL_TIMEOUT_MS, what, call(channel));
    } catch (error) {
      if ((error as Error).name === 'QueueTimeout') this.drop(channel);
      throw error;
    }
  }

  /**
   * The next caller gets a new channel. Without an answer of the broker the old one ends with its connection.
   */
  drop(channel: Channel | undefined = this.#channel): void {
    if (channel === undefined) return;
    if (this.#channel === channel) this.#channel = undefined;
    void channel.close();
    this.#options.onLost?.(channel);
  }

  /** The next caller gets a new channel; the old one ends when every call on it has. */
  retire(channel: Channel): void {
    if (this.#channel !== channel) return;
    this.#channel = undefined;
    setTimeout(() => void channel.close(), CALL_TIMEOUT_MS).unref();
  }

  async close(): Promise<void> {
    const channel = this.#channel;
    this.#channel = undefined;
    await channel?.close();
  }

  async #open(): Promise<Channel> {
    const { connection, prepare } = this.#options;
    const channel = await connection.acquire({ emitErrorsFromChannel: true });
    // Whoever made the call that closed it is told by its rejection.
    channel.on('error', () => undefined);
    channel.once('close', () => {
      if (this.#channel !== channel) return;
      this.#channel = undefined;
      this.#options.onLost?.(channel);
    });
    await prepare(channel);
    // One that took longer than its callers waited may find another one in its place.
    if (this.#channel?.active === true) {
      void channel.close();
      return this.#channel;
    }
    this.#channel = channel;
    return channel;
  }
}
