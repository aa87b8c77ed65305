/**
 * LISTEN that comes back. The driver's own listener gives up for ever when the database is not there at the
 * moment it tries again. Here a connection is opened, and a new one whenever it is lost, until stopped:
 * `current`, owned by this closure. A probe finds a peer that went away without a word.
 */
import { connectionError } from './client.ts';
import { openConnection, type Connection, type ConnectionOptions } from './connection.ts';
import { onceWhileWrong } from './errors.ts';

export interface Listener {
  stop(): Promise<void>;
}

export interface ListenOptions extends ConnectionOptions {
  readonly channel: string;
  readonly onPayload: (payload: string) => void;
  /** After each (re)connect: what was sent in between is lost. */
  readonly onReady: () => void;
  /** The address leads to another database by now. Told once while it is so. */
  readonly onError: (error: unknown) => void;
}

const AGAIN_AFTER_MS = 250;
const PROBE_EVERY_MS = 5_000;
const PROBE_TIMEOUT_MS = 5_000;

/** Rejects when the first connection fails; later ones are tried until `stop`. */
export async function startListener(options: ListenOptions): Promise<Listener> {
  const { channel, onPayload, onReady, onError, ...where } = options;
  const tellWrong = onceWhileWrong(onError);
  let isStopped = false;
  let current: Connection | undefined;
  let timer: NodeJS.Timeout | undefined;

  const later = (work: () => Promise<void>, ms: number): void => {
    clearTimeout(timer);
    if (!isStopped) timer = setTimeout(() => void work(), ms).unref();
  };
  const reopen = async (): Promise<void> => {
    // The database is not back yet; whoever needs it says so.
    await open().then(
      () => tellWrong(undefined),
      (error: unknown) => {
        tellWrong(error);
        later(reopen, AGAIN_AFTER_MS);
      },
    );
  };
  const probe = async (own: Connection): Promise<void> => {
    const late = setTimeout(() => void own.end(), PROBE_TIMEOUT_MS).unref();
    await own.run({ text: 'select 1' }).then(
      () => later(async () => await probe(own), PROBE_EVERY_MS),
      async () => await own.end(),
    );
    clearTimeout(late);
  };
  const open = async (): Promise<void> => {
    const own = openConnection(where, {
      onNotify: (from, payload) => {
        if (from === channel && own === current) onPayload(payload);
      },
      onLost: () => {
        if (own !== current) return;
        current = undefined;
        later(reopen, AGAIN_AFTER_MS);
      },
    });
    try {
      await own.run({ text: `listen "${channel}"` });
      if (isStopped) throw connectionError('CONNECTION_ENDED');
    } catch (error) {
      await own.end();
      throw error;
    }
    current = own;
    onReady();
    later(async () => await probe(own), PROBE_EVERY_MS);
  };

  await open();
  return {
    stop: async () => {
      isStopped = true;
      clearTimeout(timer);
      await current?.end();
    },
  };
}
