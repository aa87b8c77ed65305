/**
 * Opens one plaintext port for HTTP/1.1 and HTTP/2 with prior knowledge (h2c). Node has no server for both
 * without TLS, so the first three bytes of a connection decide: "PRI" begins every HTTP/2 connection and no
 * HTTP/1.1 request, while deciding on fewer would send a slow `P|OST` to HTTP/2. The socket then belongs to
 * the one or the other server, which never listen themselves.
 *
 * Every wait here has an end: for the first bytes, the head, the body (door), the next request, and for a
 * reader that stopped.
 */
import { createServer as createHttp1, type Server as Http1Server } from 'node:http';
import { createServer as createHttp2, type Http2Server, type ServerHttp2Session } from 'node:http2';
import { createServer as createTcp, type AddressInfo, type Socket } from 'node:net';
import { networkOf } from './address.ts';
import { apiError, errorBody, type ApiError } from './errors.ts';
import type { DoorLimits } from './limits.ts';
import type { NodeRequest, NodeResponse } from './reply.ts';
import { newRequestId } from './request-id.ts';

export type RequestHandler = (request: NodeRequest, response: NodeResponse) => void;

export interface Listener {
  readonly port: number;
  /** No new connections; idle ones are closed, busy ones told (GOAWAY) that this is the end. */
  drain(): void;
  /** Cuts what is left and resolves when the port is free. */
  destroy(): Promise<void>;
}

export interface ListenerOptions {
  readonly port: number;
  readonly host: string;
  readonly limits: DoorLimits;
  readonly onRequest: RequestHandler;
}

export async function listen({ port, host, limits, onRequest }: ListenerOptions): Promise<Listener> {
  const h1 = http1Server(limits, onRequest);
  const h2 = http2Server(limits, onRequest);
  const sessions = new Set<ServerHttp2Session>();
  const sockets = new Set<Socket>();
  const undecided = new Set<Socket>();
  const perAddress = new Map<string, number>();

  h2.on('session', (session) => watchSession(session, sessions, limits));
  const tcp = createTcp({ noDelay: true }, (socket) => {
    if (!countAddress(socket, perAddress, limits.connectionsPerAddressMax)) return;
    sockets.add(socket);
    undecided.add(socket);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => {
      sockets.delete(socket);
      undecided.delete(socket);
    });
    decide(socket, limits.headersTimeoutMs, (isHttp2) => {
      undecided.delete(socket);
      (isHttp2 ? h2 : h1).emit('connection', socket);
    });
  });
  await new Promise<void>((resolve, reject) => {
    tcp.once('error', reject);
    tcp.listen({ port, host, backlog: 4096 }, resolve);
  });
  const closed = new Promise<void>((resolve) => tcp.once('close', () => resolve()));
  return {
    port: (tcp.address() as AddressInfo).port,
    drain() {
      tcp.close();
      for (const socket of undecided) socket.destroy();
      h1.closeIdleConnections();
      for (const session of sessions) session.close();
    },
    async destroy() {
      tcp.close();
      for (const session of sessions) session.destroy();
      for (const socket of sockets) socket.destroy();
      clearSweep(h1);
      await closed;
    },
  };
}

function http1Server(limits: DoorLimits, onRequest: RequestHandler): Http1Server {
  const server = createHttp1(
    {
      maxHeaderSize: limits.headerBytesMax,
      headersTimeout: limits.headersTimeoutMs,
      // It counts from the first byte and ends a client without an answer: whoever is late with a body has
      // been answered before, and what such a client still sends is dropped meanwhile.
      requestTimeout: limits.headersTimeoutMs + 2 * limits.bodyTimeoutMs,
      keepAliveTimeout: limits.keepAliveMs,
      connectionsCheckingInterval: limits.sweepMs,
      // The door answers a missing Host itself, in the one shape of errors.
      requireHostHeader: false,
    },
    onRequest,
  );
  server.maxRequestsPerSocket = limits.requestsPerSocketMax;
  server.timeout = limits.socketIdleMs;
  server.on('checkExpectation', onRequest);
  server.on('clientError', answerBroken);
  // Node starts the sweep for its timeouts at this event, which a server that is handed its sockets never
  // sees.
  server.emit('listening');
  return server;
}

/** The sweep that `listening` started is an internal timer of the server, and close() is what stops it. */
function clearSweep(server: Http1Server): void {
  server.close(() => {
    // Says that the server was not listening, which it was not; the sweep is stopped all the same.
  });
}

function http2Server(limits: DoorLimits, onRequest: RequestHandler): Http2Server {
  return createHttp2(
    {
      maxSessionMemory: 10,
      maxSessionInvalidFrames: 100,
      maxSessionRejectedStreams: 100,
      settings: {
        maxConcurrentStreams: limits.streamsPerSessionMax,
        maxHeaderListSize: limits.headerBytesMax,
      },
    },
    onRequest,
  );
}

/** Waits for as many bytes as tell HTTP/2 from HTTP/1.1, and gives them back to the socket. */
function decide(socket: Socket, timeoutMs: number, done: (isHttp2: boolean) => void): void {
  const timer = setTimeout(() => socket.destroy(), timeoutMs);
  let head: Buffer = Buffer.alloc(0);
  const onReadable = (): void => {
    for (let chunk = socket.read() as Buffer | null; chunk !== null; chunk = socket.read() as Buffer | null) {
      head = head.length === 0 ? chunk : Buffer.concat([head, chunk]);
    }
    const start = head.toString('latin1', 0, 3);
    if (start.length === 0 || (start.length < 3 && 'PRI'.startsWith(start))) return;
    clearTimeout(timer);
    // Nothing of this stays with the socket, least of all the head.
    socket.off('readable', onReadable).off('close', onClose).off('end', onEnd);
    socket.unshift(head);
    done(start === 'PRI');
  };
  const onClose = (): void => clearTimeout(timer);
  /** Closed before it said what it wants. */
  const onEnd = (): void => void socket.destroy();
  socket.on('readable', onReadable).once('close', onClose).once('end', onEnd);
}

/** False when the address has too many connections already; the socket is then gone. */
function countAddress(socket: Socket, perAddress: Map<string, number>, most: number): boolean {
  const address = networkOf(socket.remoteAddress ?? '');
  const count = (perAddress.get(address) ?? 0) + 1;
  if (count > most) {
    socket.destroy();
    return false;
  }
  perAddress.set(address, count);
  socket.once('close', () => {
    const left = (perAddress.get(address) ?? 1) - 1;
    if (left === 0) perAddress.delete(address);
    else perAddress.set(address, left);
  });
  return true;
}

/**
 * HTTP/2 has no timeouts of its own: for the settings that begin a session, for an idle one, for a reader
 * that stopped.
 */
function watchSession(
  session: ServerHttp2Session,
  sessions: Set<ServerHttp2Session>,
  limits: DoorLimits,
): void {
  sessions.add(session);
  const greeting = setTimeout(() => session.destroy(), limits.headersTimeoutMs);
  session.once('remoteSettings', () => clearTimeout(greeting));
  session.once('close', () => {
    clearTimeout(greeting);
    sessions.delete(session);
  });
  session.on('error', () => session.destroy());
  // After the first silence there are no new requests, and those at work may end. After the second one nobody
  // is there.
  session.setTimeout(limits.keepAliveMs, () => {
    if (session.closed) return session.destroy();
    session.close();
    session.setTimeout(limits.socketIdleMs, () => session.destroy());
  });
}

/**
 * Bytes that are no HTTP/1.1 request, or not in time: answered in the shape of every other error, then
 * closed.
 */
function answerBroken(
  error: NodeJS.ErrnoException,
  socket: NodeJS.WritableStream & { destroy(): unknown; bytesWritten?: number; _httpMessage?: unknown },
): void {
  // When an answer is under way on this socket, more text would only corrupt it.
  if (error.code === 'ECONNRESET' || !socket.writable || (socket._httpMessage ?? undefined) !== undefined) {
    socket.destroy();
    return;
  }
  const known = brokenRequest(error.code);
  const requestId = newRequestId();
  const body = JSON.stringify(errorBody(known, requestId));
  socket.end(
    [
      `HTTP/1.1 ${known.status} ${REASONS[known.status] ?? 'Error'}`,
      'content-type: application/json; charset=utf-8',
      'cache-control: no-store',
      'x-content-type-options: nosniff',
      `x-request-id: ${requestId}`,
      `content-length: ${Buffer.byteLength(body)}`,
      'connection: close',
      '',
      body,
    ].join('\r\n'),
  );
}

const REASONS: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  431: 'Request Header Fields Too Large',
};

function brokenRequest(code: string | undefined): ApiError {
  if (code === 'HPE_HEADER_OVERFLOW')
    return apiError('headers_too_large', 'the request line and headers are too large');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return apiError('request_timeout', 'the request was not complete in time');
  return apiError('request_invalid', 'the bytes received are not a valid HTTP/1.1 request');
}
