/**
 * This file is an HTTP proxy for tests: it takes CONNECT tunnels and plain requests in absolute form, with or
 * without a password.
 */
import { createServer, request as requestHttp } from 'node:http';
import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { listening } from './listening.ts';

export interface FakeProxy {
  url: string;
  /** `CONNECT host:port` and `POST http://…`, in order. */
  seen: string[];
}

export async function startFakeProxy(credentials?: string): Promise<FakeProxy> {
  const seen: string[] = [];
  const sockets = new Set<Socket>();
  const expected =
    credentials === undefined ? undefined : `Basic ${Buffer.from(credentials).toString('base64')}`;
  const server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url}`);
    if (expected !== undefined && request.headers['proxy-authorization'] !== expected) {
      response.writeHead(407).end();
      return;
    }
    const url = new URL(request.url ?? '');
    const { 'proxy-authorization': _, ...headers } = request.headers;
    const onward = requestHttp(
      {
        host: url.hostname.replace(/^\[|\]$/g, ''),
        port: url.port,
        path: url.pathname + url.search,
        method: request.method,
        headers,
      },
      (reply) => {
        response.writeHead(reply.statusCode ?? 502, reply.headers);
        reply.pipe(response);
      },
    );
    request.pipe(onward);
  });
  server.on('connect', (request, socket: Socket) => {
    seen.push(`CONNECT ${request.url}`);
    sockets.add(socket);
    socket.on('error', () => undefined);
    if (expected !== undefined && request.headers['proxy-authorization'] !== expected) {
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
      return;
    }
    const { hostname, port } = new URL(`http://${request.url}`);
    const onward = connect(Number(port), hostname.replace(/^\[|\]$/g, ''), () => {
      socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      socket.pipe(onward).pipe(socket);
    });
    onward.on('error', () => socket.destroy());
    sockets.add(onward);
  });
  const port = await listening(server);
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  return { url: `http://${credentials === undefined ? '' : `${credentials}@`}127.0.0.1:${port}`, seen };
}
