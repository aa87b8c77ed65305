/**
 * Opens the sockets of the driver. It could do that itself, but then it hears of an error in two steps, `error` and, a turn
 * later, `close`, and a statement that it sends in between is never answered. Here whoever owns the client hears of the first
 * sign, before the driver does. And small writes leave at once: the driver leaves Nagle's algorithm on.
 */
import { connect } from 'node:net';
import type { NetConnectOpts, Socket } from 'node:net';

/** What the driver passes, as far as it is used here. */
export interface DialTarget {
  readonly host: readonly string[];
  readonly port: readonly number[];
  readonly path?: string | undefined | false;
}

export type Dial = (target: DialTarget) => Promise<Socket>;

const CONNECT_TIMEOUT_MS = 5_000;

/** `onLost`: at the first sign that a connection is gone or cannot be made. It may be called more than once. */
export function createDial(onLost: () => void): Dial {
  return async (target) => {
    let reason: unknown;
    for (const [at, host] of target.host.entries()) {
      const port = target.port[at] ?? 5432;
      const path = typeof target.path === 'string' ? target.path : undefined;
      try {
        return await dialOne(path === undefined ? { host, port } : { path }, host, onLost);
      } catch (error) {
        reason = error; // the next host may be there
      }
    }
    onLost();
    throw reason;
  };
}

async function dialOne(where: NetConnectOpts, host: string, onLost: () => void): Promise<Socket> {
  const socket = connect({ ...where, noDelay: true });
  const timer = setTimeout(() => {
    const message = `no connection to ${host} within ${CONNECT_TIMEOUT_MS} ms`;
    socket.destroy(Object.assign(new Error(message), { code: 'CONNECT_TIMEOUT' }));
  }, CONNECT_TIMEOUT_MS);
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve).once('error', reject);
    });
  } finally {
    clearTimeout(timer);
  }
  socket.on('error', onLost).on('end', onLost).on('close', onLost);
  // Read by the driver for the name in a TLS handshake.
  return Object.assign(socket, { host });
}
