/**
 * This is a repository's host on loopback. What it answers is put together from routes, one set for each part
 * of an API (trees, statuses, hooks), and what it was asked is kept. A test makes it fail by answering in a
 * route's place.
 */
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { onLoopback } from '../listen.ts';

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

export type FakeForge = Awaited<ReturnType<typeof startFakeForge>>;

/** A request for which no route has been found yet. */
type UnroutedRequest = Omit<ForgeRequest, 'groups'>;

export async function startFakeForge(routes: readonly Route[]) {
  const asked: ForgeRequest[] = [];
  const instead: Array<(one: UnroutedRequest) => Answer | undefined> = [];
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
  const answerOf = (one: UnroutedRequest): Answer => {
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
  const { url, close } = await onLoopback(server);
  return {
    url,
    asked,
    /** Answers in place of the routes while it gives something; the newest first. */
    instead: (answer: (one: UnroutedRequest) => Answer | undefined) => void instead.unshift(answer),
    close,
  };
}

/** Makes a route of one method. */
const route =
  (method: string) =>
  (path: RegExp, answer: Route['answer']): Route => ({ method, path, answer });
export const get = route('GET');
export const post = route('POST');

const NOT_FOUND: Answer = { status: 404, body: { message: 'Not Found' } };
