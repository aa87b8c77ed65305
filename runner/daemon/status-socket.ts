/**
 * This file serves the daemon's state to people on this machine: `GET /status` on a unix socket in the data
 * folder. Nothing on the network can reach it, and of this machine's users only the one that may enter the
 * folder. `curl --unix-socket <data-dir>/status.sock http://svc-runner/status` works, too.
 */
import { chmod, rm } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import { errorText } from '../platform/errors.ts';
import type { Log } from '../platform/log.ts';
import type { DaemonState } from './state-file.ts';

export interface StatusSocketOptions {
  path: string;
  snapshot: () => Promise<DaemonState>;
  log: Log;
}

/**
 * Returns undefined when the socket cannot be made (a path longer than the system's 107 bytes): the state
 * file holds the same, a little later.
 */
export async function openStatusSocket(options: StatusSocketOptions) {
  const { path, log } = options;
  const server = createServer((incoming, response) => {
    const known = incoming.method === 'GET' && incoming.url === '/status';
    const answer = known
      ? options.snapshot()
      : Promise.resolve({ error: `GET /status is all there is, not ${incoming.method} ${incoming.url}` });
    answer
      .then((body) => {
        response.writeHead(known ? 200 : 404, { 'content-type': 'application/json' });
        response.end(`${JSON.stringify(body)}\n`);
      })
      .catch((error: unknown) => {
        response.writeHead(500, { 'content-type': 'application/json' });
        response.end(`${JSON.stringify({ error: errorText(error) })}\n`);
      });
  });
  try {
    // A socket file that is there belongs to a process that has ended: the caller holds the lock of the
    // folder.
    await rm(path, { force: true });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(path, resolve);
    });
    await chmod(path, 0o600);
  } catch (error) {
    server.close();
    log.warn(
      { problem: errorText(error) },
      'there is no status socket; svc-runner status reads the state file instead',
    );
    return undefined;
  }
  server.on('error', (error) => log.warn({ problem: error.message }, 'the status socket failed'));
  return {
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      await rm(path, { force: true });
    },
  };
}

const ANSWER_MS = 3_000;
const ANSWER_BYTES_MAX = 4_194_304;

/** Returns undefined when nobody answers there. */
export async function askStatus(path: string): Promise<DaemonState | undefined> {
  return await new Promise((resolve) => {
    const parts: Buffer[] = [];
    let bytes = 0;
    const none = () => resolve(undefined);
    const asking = request({ socketPath: path, path: '/status', timeout: ANSWER_MS }, (reply) => {
      reply.on('data', (part: Buffer) => {
        parts.push(part);
        bytes += part.length;
        if (bytes > ANSWER_BYTES_MAX) asking.destroy();
      });
      reply.on('close', none);
      reply.on('end', () => {
        try {
          resolve(
            reply.statusCode === 200
              ? (JSON.parse(Buffer.concat(parts).toString()) as DaemonState)
              : undefined,
          );
        } catch {
          none();
        }
      });
    });
    asking.on('timeout', () => asking.destroy());
    asking.on('error', none);
    asking.end();
  });
}
