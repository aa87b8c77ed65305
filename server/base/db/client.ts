/**
 * A client of postgres.js that may dial once. The driver would connect again by itself, and a transaction
 * that has lost its connection would go on there, each of its statements committed alone.
 */
import type { Socket } from 'node:net';
import postgres from 'postgres';
import type { DatabaseAddress, Host } from './address.ts';
import { dial } from './hosts.ts';
import type { Run } from './statement.ts';
import { TYPES } from './types.ts';

/** From dialling a host until its session is as it must be. */
export const CONNECT_TIMEOUT_MS = 5_000;
const MESSAGES = {
  CONNECTION_CLOSED: 'the connection to the database was lost',
  CONNECTION_ENDED: 'the database handle was closed',
  CONNECT_TIMEOUT: `no connection to the database within ${CONNECT_TIMEOUT_MS} ms`,
};

export function connectionError(code: keyof typeof MESSAGES): Error {
  return Object.assign(new Error(MESSAGES[code]), { code });
}

export interface ClientOptions {
  readonly address: DatabaseAddress;
  /** Shown in pg_stat_activity. */
  readonly name: string;
}

export type Client = postgres.Sql;

export interface Link {
  readonly host: Host;
  /** Its socket is gone, or never came. */
  readonly onDown: (error: Error) => void;
  readonly onNotify: ((channel: string, payload: string) => void) | undefined;
}

export function createClient(
  { address, name }: ClientOptions,
  { host, onDown, onNotify }: Link,
): { readonly client: Client; cut(): void } {
  let socket: Socket | undefined;
  const dialOnce = async (): Promise<Socket> => {
    try {
      if (socket !== undefined) throw connectionError('CONNECTION_CLOSED');
      return await dial(host, (dialled) => (socket = dialled));
    } catch (error) {
      onDown(error as Error);
      throw error;
    }
  };
  const { user, password, database, ssl } = address;
  const client = postgres({
    host: [host.name],
    port: [host.port],
    user,
    password,
    database,
    ssl,
    max: 1,
    // With the default, acknowledged writes are lost when a transaction begins while a hundred statements are
    // in flight.
    max_pipeline: 1e9,
    max_lifetime: null,
    // When the connection dies during the driver's query for types, that error is nobody's and ends the
    // process.
    fetch_types: false,
    connect_timeout: null, // its own clock begins when the socket is there
    onnotice: () => undefined, // "relation already exists, skipping" and the like: nothing to act on
    connection: { application_name: name },
    types: TYPES,
    socket: dialOnce,
    onclose: () => onDown(connectionError('CONNECTION_CLOSED')),
    onnotify: onNotify,
    // The driver's types leave out `socket` and `onnotify`, and want one type for all custom values.
  } as unknown as postgres.Options<Record<string, postgres.PostgresType>>) as unknown as Client;
  return {
    client,
    cut: () => {
      socket?.destroy();
      void client.end({ timeout: 0 });
    },
  };
}

export const sendOn =
  (client: Client): Run =>
  ({ text, values = [], isPrepared = false, asArrays = false }) => {
    const query = client.unsafe(text, values as never[], { prepare: isPrepared });
    return asArrays ? query.values() : query;
  };
