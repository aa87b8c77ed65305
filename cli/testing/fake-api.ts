/**
 * This file stands at the far end of the wire: a real HTTP server with scripted answers, which remembers what
 * it was asked.
 */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach } from 'vitest';

export interface FakeRequest {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  /** Parsed; undefined without one. */
  readonly body: unknown;
}

export type Answer =
  | { readonly status?: number; readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> }
  /** A function answers with a stream, or with silence. */
  | ((response: ServerResponse, asked: FakeRequest) => void);

export interface FakeApi {
  readonly url: string;
  readonly asked: readonly FakeRequest[];
  /** `route` is `GET /path`, without query. The last answer stays; earlier ones are used up. */
  on(route: string, ...answers: readonly Answer[]): void;
  /** Forgets routes and what was asked. */
  reset(): void;
  close(): Promise<void>;
}

export async function startFakeApi(): Promise<FakeApi> {
  const asked: FakeRequest[] = [];
  const routes = new Map<string, Answer[]>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      const { method = '', url = '', headers } = request;
      const one: FakeRequest = {
        method,
        target: url,
        headers,
        body: text === '' ? undefined : JSON.parse(text),
      };
      asked.push(one);
      const answers = routes.get(`${method} ${url.split('?')[0]}`);
      const answer = answers !== undefined && answers.length > 1 ? answers.shift() : answers?.[0];
      if (typeof answer === 'function') answer(response, one);
      else send(response, answer ?? apiError(404, 'not_found', `no route ${method} ${url}`));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    on: (route, ...answers) => void routes.set(route, [...answers]),
    reset: () => {
      routes.clear();
      asked.length = 0;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function send(response: ServerResponse, answer: Exclude<Answer, (...args: never[]) => void>): void {
  const { status = 200, body, headers = {} } = answer;
  response.writeHead(status, {
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...headers,
  });
  response.end(body === undefined ? undefined : JSON.stringify(body));
}

export function apiError(
  status: number,
  code: string,
  said: string | { readonly message: string; readonly details: unknown },
): Exclude<Answer, (...args: never[]) => void> {
  const error = {
    code,
    ...(typeof said === 'string' ? { message: said } : said),
    requestId: 'req_1',
    retryable: status === 503,
  };
  return { status, body: { error }, headers: { 'x-request-id': 'req_1' } };
}

/** It answers a log stream; `end: 'open'` leaves it open. */
export function logStream(events: readonly object[], end: 'done' | 'open' = 'done'): Answer {
  return (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const event of events) {
      const { position } = event as { readonly position?: string };
      response.write(`id: ${position}\ndata: ${JSON.stringify(event)}\n\n`);
    }
    if (end === 'done') response.end('event: done\ndata: {}\n\n');
  };
}

export function logEvent(
  offset: number,
  stream: string,
  said: string | { readonly text: string; readonly epoch: number },
): object {
  const { text, epoch } = typeof said === 'string' ? { text: said, epoch: 1 } : said;
  return { position: `${epoch}-${offset}`, stream, text, epoch, at: '2026-11-20T08:00:00Z' };
}

/**
 * Starts one for the tests of a file. It forgets everything after each of them, and is closed at their end.
 */
export async function useFakeApi(): Promise<FakeApi> {
  const api = await startFakeApi();
  afterEach(() => api.reset());
  afterAll(() => api.close());
  return api;
}

/** Makes a folder for the tests of a file, which is removed at their end. */
export function useFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `svc-${name}-`));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
