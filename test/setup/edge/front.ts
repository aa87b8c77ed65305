/**
 * Stands before an authority and forwards all that it does not answer itself: it adds renewal information
 * (RFC 9773), which pebble does not have, refuses what a test wants refused, and counts what is asked.
 */
import { createServer, request } from 'node:https';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Pebble } from './pebble.ts';
import { listening } from '../runner/listening.ts';

export interface Refusal {
  status: number;
  body: object;
  headers?: Readonly<Record<string, string>>;
}

interface Seen {
  path: string;
  /** Content of the JWS; empty where the request is none. */
  payload: Record<string, unknown>;
}

export type Front = Awaited<ReturnType<typeof startFront>>;

export async function startFront(pebble: Pebble) {
  const seen: Seen[] = [];
  let answer: (asked: Seen) => Refusal | undefined = () => undefined;
  let windowOf: (() => { start: Date; end: Date; retryAfter?: string }) | undefined;
  const { cert, key } = pebble.certificates;
  const server = createServer({ cert, key }, (incoming, outgoing) => {
    void serve(incoming, outgoing).catch(() => outgoing.destroy());
  });
  const serve = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const parts: Buffer[] = [];
    for await (const part of incoming) parts.push(part as Buffer);
    const body = Buffer.concat(parts);
    const asked = { path: incoming.url ?? '', payload: payloadOf(body) };
    seen.push(asked);
    const refusal = answer(asked);
    if (refusal !== undefined) {
      const headers = { 'content-type': 'application/problem+json', ...refusal.headers };
      outgoing.writeHead(refusal.status, headers).end(JSON.stringify(refusal.body));
      return;
    }
    if (asked.path.startsWith('/renewal-info/') && windowOf !== undefined) {
      const { start, end, retryAfter } = windowOf();
      const headers = retryAfter === undefined ? {} : { 'retry-after': retryAfter };
      outgoing.writeHead(200, headers).end(JSON.stringify({ suggestedWindow: { start, end } }));
      return;
    }
    const reply = await forwarded(incoming, body, pebble);
    const isDirectory = asked.path === '/dir' && windowOf !== undefined;
    const text = isDirectory ? withRenewalInfo(reply.body, port) : reply.body;
    outgoing.writeHead(reply.status, { ...reply.headers, 'content-length': text.length }).end(text);
  };
  const port = await listening(server);
  return {
    directory: `https://localhost:${port}/dir`,
    seen,
    orders: () => seen.filter(({ path }) => path === '/order-plz').length,
    /** Each request is shown; one for which a refusal comes back does not reach the authority. */
    answerBy: (by: typeof answer) => void (answer = by),
    suggest: (by: typeof windowOf) => void (windowOf = by),
  };
}

interface Forwarded {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/**
 * The name of the host is kept: the authority makes its own addresses of it, and compares it with the JWS.
 */
async function forwarded(incoming: IncomingMessage, body: Buffer, pebble: Pebble): Promise<Forwarded> {
  const { method = 'GET', url = '/', headers } = incoming;
  return await new Promise((resolve, reject) => {
    const options = { method, headers, ca: pebble.certificates.ca, servername: 'localhost', agent: false };
    request(new URL(url, pebble.directory), options, (reply) => {
      const parts: Buffer[] = [];
      reply.on('data', (part: Buffer) => parts.push(part));
      reply.once('end', () => {
        const { 'transfer-encoding': _, ...kept } = reply.headers;
        resolve({ status: reply.statusCode ?? 0, headers: kept, body: Buffer.concat(parts) });
      });
    })
      .once('error', reject)
      .end(body);
  });
}

function payloadOf(body: Buffer): Record<string, unknown> {
  try {
    const { payload } = JSON.parse(body.toString()) as { payload: string };
    return JSON.parse(Buffer.from(payload, 'base64url').toString()) as Record<string, unknown>;
  } catch {
    return {}; // A GET, or a POST-as-GET.
  }
}

function withRenewalInfo(directory: Buffer, port: number): Buffer {
  const json = JSON.parse(directory.toString()) as object;
  return Buffer.from(JSON.stringify({ ...json, renewalInfo: `https://localhost:${port}/renewal-info` }));
}
