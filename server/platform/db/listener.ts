/**
 * LISTEN that comes back. The driver's own listener gives up for ever when the database is not there at the moment it tries
 * again. Here one connection of its own is opened, and opened again whenever it is lost, until stopped: state is `client`, owned
 * by this closure. A probe finds a peer that went away without a word.
 */
import postgres from 'postgres';

export interface Listener {
  stop(): Promise<void>;
}

export interface ListenOptions {
  readonly url: string;
  /** See role.ts. */
  readonly role?: string | undefined;
  readonly channel: string;
  readonly onPayload: (payload: string) => void;
  /** After each (re)connect: what was sent in between is lost. */
  readonly onReady: () => void;
}

const AGAIN_AFTER_MS = 250;
const PROBE_EVERY_MS = 5_000;
const PROBE_TIMEOUT_MS = 5_000;

/** Internal options of the driver, which its types leave out. */
type Options = postgres.Options<Record<string, postgres.PostgresType>> & {
  onnotify: (channel: string, payload: string) => void;
};

/** Rejects when the first connection fails; later ones are tried until `stop`. */
export async function startListener(options: ListenOptions): Promise<Listener> {
  let stopped = false;
  let client: postgres.Sql | undefined;
  let timer: NodeJS.Timeout | undefined;

  const later = (work: () => Promise<void>, ms: number): void => {
    clearTimeout(timer);
    if (!stopped) timer = setTimeout(() => void work(), ms).unref();
  };

  const reopen = async (): Promise<void> => {
    try {
      await open();
    } catch {
      later(reopen, AGAIN_AFTER_MS); // The database is not back yet; whoever needs it says so.
    }
  };

  const lost = (which: postgres.Sql): void => {
    if (which !== client) return;
    client = undefined;
    void which.end({ timeout: 0 });
    later(reopen, AGAIN_AFTER_MS);
  };

  const probe = async (): Promise<void> => {
    const own = client;
    if (own === undefined) return;
    const late = new Promise<never>((_resolve, reject) => {
      setTimeout(reject, PROBE_TIMEOUT_MS, new Error('no answer')).unref();
    });
    try {
      await Promise.race([own`select 1`, late]);
      later(probe, PROBE_EVERY_MS);
    } catch {
      lost(own);
    }
  };

  const open = async (): Promise<void> => {
    const own: postgres.Sql = postgres(options.url, {
      max: 1,
      max_lifetime: null,
      fetch_types: false,
      connect_timeout: 5,
      connection: { application_name: 'svc-listener', role: options.role },
      onnotice: () => undefined,
      onnotify: (channel, payload) => {
        if (channel === options.channel && own === client) options.onPayload(payload);
      },
      onclose: () => lost(own),
    } as Options);
    try {
      await own.unsafe(`listen "${options.channel}"`);
    } catch (error) {
      await own.end({ timeout: 0 });
      throw error;
    }
    if (stopped) return await own.end({ timeout: 0 });
    client = own;
    options.onReady();
    later(probe, PROBE_EVERY_MS);
  };

  await open();
  return {
    stop: async () => {
      stopped = true;
      clearTimeout(timer);
      const own = client;
      client = undefined;
      await own?.end({ timeout: 1 });
    },
  };
}
