/**
 * Starts a real HTTP server that answers what the test scripted, in order, and remembers what it was asked.
 */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach } from 'vitest';

export interface SeenRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** Settles when the client closed the connection before the answer was complete. */
  readonly closedByClient: Promise<void>;
}

export interface ScriptedReply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON. */
  readonly body?: unknown;
  /** The body in separate writes; a Uint8Array goes out as it is. */
  readonly chunks?: readonly (string | Uint8Array)[];
  /** End of the answer; `end` is the proper one. */
  readonly then?: 'end' | 'hang' | 'reset';
}

export interface FakeServer {
  readonly baseUrl: string;
  readonly seen: readonly SeenRequest[];
  reply(...replies: readonly ScriptedReply[]): void;
  /** Resolves with the request of this index as soon as it has come. */
  request(index: number): Promise<SeenRequest>;
  /** Resolves when the client has closed the connection of this request before its answer was complete. */
  left(index: number): Promise<void>;
  close(): Promise<void>;
}

/** An answer that never comes, and one that is cut off before its first byte. */
export const hang: ScriptedReply = { then: 'hang', status: 0 };
export const reset: ScriptedReply = { then: 'reset', status: 0 };

export async function startFakeServer(): Promise<FakeServer> {
  const seen: SeenRequest[] = [];
  const script: ScriptedReply[] = [];
  const waiting = new Set<() => void>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      seen.push({
        method: request.method ?? '',
        target: request.url ?? '',
        headers: request.headers,
        body: Buffer.concat(chunks).toString(),
        closedByClient: new Promise((resolve) => {
          response.on('close', () => {
            if (!response.writableFinished) resolve();
          });
        }),
      });
      for (const wake of waiting) wake();
      play(script.shift() ?? { status: 599, body: 'the test scripted no further reply' }, response);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const request = (index: number): Promise<SeenRequest> =>
    new Promise((resolve) => {
      const check = (): void => {
        const found = seen[index];
        if (found === undefined) return;
        waiting.delete(check);
        resolve(found);
      };
      waiting.add(check);
      check();
    });
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    reply: (...replies) => void script.push(...replies),
    request,
    left: async (index) => await (await request(index)).closedByClient,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/**
 * Gives each test of a file its own. One for all would not do: a client keeps connections to an address, and
 * the end of one test would cut what the next one sends.
 */
export function useFakeServer(): Omit<FakeServer, 'close'> {
  let server: FakeServer;
  beforeEach(async () => void (server = await startFakeServer()));
  afterEach(() => server.close());
  return {
    get baseUrl() {
      return server.baseUrl;
    },
    get seen() {
      return server.seen;
    },
    reply: (...replies) => server.reply(...replies),
    request: (index) => server.request(index),
    left: (index) => server.left(index),
  };
}

function play(reply: ScriptedReply, response: ServerResponse): void {
  const { status = 200, headers = {}, body, chunks = [], then = 'end' } = reply;
  if (status !== 0) {
    const isJson = body !== undefined && typeof body !== 'string';
    response.writeHead(status, { ...(isJson ? { 'content-type': 'application/json' } : {}), ...headers });
    response.flushHeaders();
    if (body !== undefined) response.write(isJson ? JSON.stringify(body) : body);
  }
  void writeApart(chunks, response).then(() => {
    if (then === 'end') response.end();
    if (then === 'reset') response.socket?.resetAndDestroy();
  });
}

/** One write per turn of the event loop, so that the pieces travel apart. */
async function writeApart(chunks: readonly (string | Uint8Array)[], response: ServerResponse): Promise<void> {
  for (const chunk of chunks) {
    response.write(chunk);
    await new Promise((resolve) => setImmediate(resolve));
  }
}
