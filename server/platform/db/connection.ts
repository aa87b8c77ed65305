/**
 * One connection to the database for all its life: a client of postgres.js that may dial once.
 *
 * The driver would connect again by itself, and a transaction that has lost its connection would go on there, each of its statements committed alone. So when the connection is lost its client
 * gets nothing any more and no second socket, and what it was given and has not answered is rejected here: the driver forgets some of that.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import postgres from 'postgres';
import type { Query } from './statement.ts';
import { TYPES } from './types.ts';

export interface ConnectionOptions {
  readonly url: string;
  /** Shown in pg_stat_activity. */
  readonly name: string;
  /** Server-side limit of one statement. */
  readonly statementTimeoutMs: number;
  /** Taken before the first statement; see role.ts. */
  readonly role?: string | undefined;
}

export interface ConnectionEvents {
  /** Once, before anybody who waits for a statement is told; after `end` too. */
  onLost(error: Error): void;
  onNotify?: (channel: string, payload: string) => void;
}

export interface Connection {
  /** Statements under way. */
  readonly load: number;
  run(query: Query): Promise<unknown>;
  /** Resolves when nothing is under way. One may wait at a time. */
  idle(): Promise<void>;
  /** Cuts it; what is under way is rejected. */
  end(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 5_000;
/** Limits of each session beside that of one statement, in milliseconds. */
export const SESSION_LIMITS = { idle_in_transaction_session_timeout: 10_000, lock_timeout: 2_000 };

/**
 * Every statement here is written for an index. The planner sees a table that is nearly empty, finds reading all of it as cheap, and the prepared statement keeps that plan while the table
 * grows, until something analyses it. A plan without an index costs so much on paper now that it would be compiled each time.
 */
const PLANNING = { enable_seqscan: 'off', jit: 'off' };

const MESSAGES = {
  CONNECTION_CLOSED: 'the connection to the database was lost',
  CONNECTION_ENDED: 'the database handle was closed',
  CONNECT_TIMEOUT: `no connection to the database within ${CONNECT_TIMEOUT_MS} ms`,
};

export function connectionError(code: keyof typeof MESSAGES): Error {
  return Object.assign(new Error(MESSAGES[code]), { code });
}

function driverOptions({ name, statementTimeoutMs, role }: ConnectionOptions) {
  return {
    max: 1,
    // With the default, acknowledged writes are lost when a transaction begins while a hundred statements are in flight.
    max_pipeline: 1e9,
    max_lifetime: null,
    // When the connection dies during the driver's query for types, that error is nobody's and ends the process.
    fetch_types: false,
    connect_timeout: CONNECT_TIMEOUT_MS / 1_000,
    onnotice: () => undefined, // "relation already exists, skipping" and the like: nothing to act on
    connection: {
      application_name: name,
      statement_timeout: statementTimeoutMs,
      ...SESSION_LIMITS,
      ...PLANNING,
      ...(role === undefined ? {} : { role }),
    },
    types: TYPES,
  };
}

/** Connects when it gets its first statement. */
export function openConnection(options: ConnectionOptions, events: ConnectionEvents): Connection {
  const pending = new Set<(error: Error) => void>();
  let whenIdle: (() => void) | undefined;
  let over: Error | undefined;
  let hasDialled = false;

  const end = async (error: Error): Promise<void> => {
    if (over !== undefined) return;
    over = error;
    events.onLost(error);
    const timeout = pending.size === 0 ? 1 : 0; // seconds
    for (const reject of pending) reject(error);
    pending.clear();
    whenIdle?.();
    await client.end({ timeout });
  };

  const dialOnce = async (target: Target): Promise<Socket> => {
    try {
      if (hasDialled) throw connectionError('CONNECTION_CLOSED');
      hasDialled = true;
      const socket = await dial(target);
      if (over === undefined) return socket;
      socket.destroy();
      throw over;
    } catch (error) {
      void end(error as Error);
      throw error;
    }
  };

  const client = postgres(options.url, {
    ...driverOptions(options),
    socket: dialOnce,
    onclose: () => void end(connectionError('CONNECTION_CLOSED')),
    onnotify: events.onNotify,
    // The driver's types leave out `socket` and `onnotify`, and want one type for all custom values.
  } as unknown as postgres.Options<Record<string, postgres.PostgresType>>);

  return {
    get load() {
      return pending.size;
    },
    run: ({ text, values = [], isPrepared = false, asArrays = false }) =>
      new Promise((resolve, reject) => {
        if (over !== undefined) return reject(over);
        pending.add(reject);
        const query = client.unsafe(text, values as never[], { prepare: isPrepared });
        const answer: Promise<unknown> = asArrays ? query.values() : query;
        const settled =
          <V>(settle: (value: V) => void) =>
          (value: V): void => {
            pending.delete(reject);
            settle(value);
            if (pending.size === 0) whenIdle?.();
          };
        answer.then(settled(resolve), settled(reject));
      }),
    idle: async () => {
      if (pending.size > 0) await new Promise<void>((resolve) => (whenIdle = resolve));
    },
    end: async () => await end(connectionError('CONNECTION_ENDED')),
  };
}

/** What the driver passes, as far as it is used here. */
interface Target {
  readonly host: readonly string[];
  readonly port: readonly number[];
  readonly path?: string | false;
}

/** The first host that answers. The driver would leave Nagle's algorithm on, which holds small writes back. */
async function dial({ host, port, path }: Target): Promise<Socket> {
  for (let at = 0; ; at += 1) {
    const name = host[at] ?? '';
    const where = typeof path === 'string' ? { path } : { host: name, port: port[at] ?? 5432 };
    const socket = connect({ ...where, noDelay: true });
    socket.setTimeout(CONNECT_TIMEOUT_MS, () => socket.destroy(connectionError('CONNECT_TIMEOUT')));
    try {
      await once(socket, 'connect');
      socket.setTimeout(0);
      return Object.assign(socket, { host: name }); // the driver reads the name for a TLS handshake
    } catch (error) {
      if (at + 1 >= host.length) throw error;
    }
  }
}
