/**
 * Serves answers that are no RPCs: health, metrics, the OpenAPI document, the console, and protocols of
 * others.
 */
import { announcesBody, decodeContent, NO_BODY, readBody } from './body.ts';
import { apiError, toApiError, type ApiError } from './errors.ts';
import type { Exchange } from './exchange.ts';
import type { CallLog } from './call-log.ts';
import type { DoorLimits } from './limits.ts';
import { errorHeaders, reply, type NodeRequest, type NodeResponse } from './reply.ts';
import { decodePathText } from './request-fields.ts';
import type { Verb } from './rpc.ts';
import type { RequestTarget } from './target.ts';

export interface PageRequest {
  readonly path: string;
  readonly query: string;
  readonly requestId: string;
  readonly remoteAddress: string;
  header(name: string): string | undefined;
}

export interface PageResponse {
  readonly status?: number;
  /** Lower-case names; they override the door's own (cache-control, content-security-policy). */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /**
   * It says what was refused, when the body does so in words of its own: for the log and the figures, and the
   * headers that it brings along.
   */
  readonly error?: ApiError;
}

/** A GET at an exact path: `/healthz`, `/metrics`, `/openapi.json`. */
export type Page = (request: PageRequest) => PageResponse | Promise<PageResponse>;

export interface EndpointRequest extends PageRequest {
  readonly method: string;
  /** Decoded text of the path's variable; empty for a path without one. */
  readonly variable: string;
  /** The raw head. */
  readonly request: NodeRequest;
  /**
   * Aborts when the client is gone. Made when it is asked for: few endpoints wait for anything that could be
   * given up.
   */
  signal(): AbortSignal;
  /** Sent with the answer, also with a refusal. Lower-case names. */
  readonly responseHeaders: Map<string, string>;
  /**
   * The whole body, its content-encoding undone; empty when there is none. Throws ApiErrors as for RPCs. To
   * be asked for once.
   */
  body(bytesMax: number): Promise<Uint8Array>;
}

/**
 * A page of other verbs, with a body, or with a variable at the end of its path:
 * `/ofrep/v1/evaluate/flags/{key}`, or all that follows with `/console/{path=**}`.
 */
export interface Endpoint {
  readonly verbs: readonly Verb[];
  serve(request: EndpointRequest): PageResponse | Promise<PageResponse>;
}

export type Pages = Readonly<Record<string, Page | Endpoint>>;

export interface FoundPage {
  readonly page: Page | Endpoint;
  /** Percent-encoded still; empty without one. */
  readonly variable: string;
}

export interface PageTable {
  exact(path: string): FoundPage | undefined;
  /**
   * Finds a page by everything but the last segment of its path, or by the beginning of a path that ends with
   * `{path=**}`. It is for paths that nothing else answers, because no RPC should pay for the look.
   */
  ending(path: string): FoundPage | undefined;
}

export function createPageTable(pages: Pages): PageTable {
  const exact = new Map<string, FoundPage>();
  const ending = new Map<string, Page | Endpoint>();
  const tails: Array<readonly [before: string, page: Page | Endpoint]> = [];
  for (const [path, page] of Object.entries(pages)) {
    const [, before, tail] = /^(\/.*\/)\{[a-z]+(=\*\*)?\}$/.exec(path) ?? [];
    if (before === undefined) exact.set(path, { page, variable: '' });
    else if (tail === undefined) ending.set(before, page);
    else tails.push([before, page]);
  }
  return {
    exact: (path) => exact.get(path),
    ending: (path) => {
      const cut = path.lastIndexOf('/') + 1;
      const page = cut === path.length ? undefined : ending.get(path.slice(0, cut));
      if (page !== undefined) return { page, variable: path.slice(cut) };
      const [before = '', whole] = tails.find(([prefix]) => path.startsWith(prefix)) ?? [];
      return whole && { page: whole, variable: path.slice(before.length) };
    },
  };
}

/** HEAD is a GET whose body is not sent. */
export function verbsOf(page: Page | Endpoint): readonly string[] {
  const verbs: readonly Verb[] = typeof page === 'function' ? ['GET'] : page.verbs;
  return verbs.flatMap((verb) => (verb === 'GET' ? ['GET', 'HEAD'] : [verb]));
}

export interface PageDeps {
  readonly callLog: CallLog;
  readonly limits: DoorLimits;
}

/** Never rejects. */
export async function servePage(
  exchange: Exchange,
  { page, variable, target }: FoundPage & { readonly target: RequestTarget },
  { callLog, limits }: PageDeps,
): Promise<void> {
  const { response, headers } = exchange;
  const added = new Map<string, string>();
  try {
    const answer =
      typeof page === 'function'
        ? await page(plainRequest(exchange, target))
        : await page.serve(endpointRequest(exchange, target, { variable, added, limits }));
    const { status = answer.error?.status ?? 200, headers: own, body, error } = answer;
    const brought = error === undefined ? {} : errorHeaders(error);
    reply(response, {
      status,
      headers: Object.assign(headers, Object.fromEntries(added), brought, own),
      body,
    });
    callLog.record(exchange, { protocol: 'rest', status, error });
  } catch (error) {
    Object.assign(headers, Object.fromEntries(added));
    callLog.refuse(exchange, toApiError(error));
  }
}

function signalOfGone(response: NodeResponse): AbortSignal {
  const controller = new AbortController();
  response.once('close', () => {
    if (!response.writableEnded)
      controller.abort(apiError('client_closed', 'the client closed the connection'));
  });
  return controller.signal;
}

function plainRequest(
  { request, requestId, remoteAddress }: Exchange,
  { path, query }: RequestTarget,
): PageRequest {
  return { path, query, requestId, remoteAddress, header: (name) => request.headers[name]?.toString() };
}

function endpointRequest(
  exchange: Exchange,
  target: RequestTarget,
  more: { readonly variable: string; readonly added: Map<string, string>; readonly limits: DoorLimits },
): EndpointRequest {
  const { request, response } = exchange;
  const plain = plainRequest(exchange, target);
  let gone: AbortSignal | undefined;
  return {
    ...plain,
    method: request.method ?? '',
    variable: decodePathText(more.variable, false, 'path'),
    request,
    signal: () => (gone ??= signalOfGone(response)),
    responseHeaders: more.added,
    body: async (bytesMax) => {
      if (!announcesBody(request)) return NO_BODY;
      const raw = await readBody(request, bytesMax, more.limits.bodyTimeoutMs);
      return await decodeContent(raw, plain.header('content-encoding'), bytesMax);
    },
  };
}
