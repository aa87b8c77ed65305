/**
 * This is a repository's host on loopback. What it answers is put together from routes, one set for each part
 * of an API (trees, statuses, hooks), and what it was asked is kept. A test makes it fail by answering in a
 * route's place.
 */
import { createServer } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ForgeRequest {
  readonly method: string;
  /** Decoded path, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  /** Parsed JSON; undefined without a body. */
  readonly body: unknown;
  /** Groups that the route's path captured. */
  readonly groups: Readonly<Record<string, string>>;
}

export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** JSON, or bytes as they are. */
  readonly body?: unknown;
}

export interface Route {
  readonly method: string;
  /** Over the decoded path, from its beginning to its end. */
  readonly path: RegExp;
  readonly answer: (asked: ForgeRequest) => Answer | undefined;
}

export interface FakeForge {
  readonly url: string;
  readonly asked: ForgeRequest[];
  /** Answers in place of the routes while it gives something; the newest first. */
  instead(answer: (asked: Omit<ForgeRequest, 'groups'>) => Answer | undefined): void;
  close(): Promise<void>;
}

export async function startFakeForge(routes: readonly Route[]): Promise<FakeForge> {
  const asked: ForgeRequest[] = [];
  const instead: Array<(one: Omit<ForgeRequest, 'groups'>) => Answer | undefined> = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const url = new URL(request.url ?? '/', 'http://forge');
      const text = Buffer.concat(parts).toString();
      const one = {
        method: request.method ?? '',
        path: decodeURIComponent(url.pathname),
        query: url.searchParams,
        headers: request.headers,
        body: text === '' ? undefined : (JSON.parse(text) as unknown),
      };
      const { status, headers = {}, body } = answerOf(one);
      const bytes = body instanceof Uint8Array;
      response.writeHead(status, {
        ...(bytes ? {} : { 'content-type': 'application/json' }),
        ...headers,
      });
      response.end(body === undefined ? undefined : bytes ? body : JSON.stringify(body));
    });
  });
  const answerOf = (one: Omit<ForgeRequest, 'groups'>): Answer => {
    const first = instead.map((answer) => answer(one)).find((answer) => answer !== undefined);
    for (const { method, path, answer } of routes) {
      const match = method === one.method ? path.exec(one.path) : null;
      if (match === null || match[0] !== one.path) continue;
      const whole = { ...one, groups: { ...match.groups } };
      asked.push(whole);
      return first ?? answer(whole) ?? NOT_FOUND;
    }
    asked.push({ ...one, groups: {} });
    return first ?? NOT_FOUND;
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    instead: (answer) => instead.unshift(answer),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const NOT_FOUND: Answer = { status: 404, body: { message: 'Not Found' } };
