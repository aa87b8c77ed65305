/**
 * The HTTP layer that the server and the gateway share: one port, HTTP/1.1 and HTTP/2, and every RPC reachable as REST, Connect,
 * gRPC and gRPC-Web. The path alone decides which app and which RPC; then, on every protocol, in this order: gate, admission from
 * the head, body and its signature, decoding, validation, the app. The door owns the calls at work: each is counted until it is
 * settled, and closing waits for that count to reach zero.
 */
import { ActiveCall, type CallRecord, type OnSettled } from './active-call.ts';
import type { App, Protocol } from './call.ts';
import { CallList } from './call-list.ts';
import { createRpcDoor, type RpcEntry } from './connect-doors.ts';
import { apiError, toApiError, type ApiError } from './errors.ts';
import { Exchange } from './exchange.ts';
import { LIMITS, type DoorLimits } from './limits.ts';
import { listen, type Listener } from './listener.ts';
import { baseHeaders, reply, replyError, type NodeRequest, type NodeResponse } from './reply.ts';
import { requestIdOf } from './request-id.ts';
import { createRestDoor, failRest, type RestTarget } from './rest.ts';
import { createRouter, type Match, type Router } from './router.ts';
import type { RpcInfo } from './rpc.ts';
import { addressReader, assertUnambiguous, parseTarget, type RequestTarget } from './target.ts';
import { compileRoute } from './transcode.ts';

/** What the door writes to; pino's loggers fit. */
export interface DoorLog {
  error(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export interface PageRequest {
  readonly path: string;
  readonly query: string;
  readonly requestId: string;
  header(name: string): string | undefined;
}

export interface PageResponse {
  readonly status?: number;
  /** Lower-case names; they override the door's own (cache-control, content-security-policy). */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

/** A GET at an exact path that is no RPC: `/healthz`, `/metrics`, `/openapi.json`. */
export type Page = (request: PageRequest) => PageResponse | Promise<PageResponse>;

export interface DoorOptions {
  /** Those of one process; no RPC may be in two of them. */
  readonly apps: readonly App<unknown>[];
  readonly log: DoorLog;
  readonly limits?: Partial<DoorLimits>;
  readonly pages?: Readonly<Record<string, Page>>;
  /** Addresses or CIDR ranges of proxies whose X-Forwarded-For is believed. Default: none. */
  readonly trustedProxies?: readonly string[];
  /** Tell browsers to come by HTTPS alone; only right when a proxy terminates TLS. Default: false. */
  readonly hsts?: boolean;
  /** Called once per request, pages included, when its answer is decided. Must not throw. */
  readonly onCall?: (record: CallRecord) => void;
}

export interface OpenDoor {
  readonly port: number;
  /** Stops accepting, ends streams, waits for calls at work at most so long, then cuts what is left. */
  close(graceMs: number): Promise<void>;
}

export interface Door {
  /** For a server that somebody else listens on. */
  readonly handler: (request: NodeRequest, response: NodeResponse) => void;
  listen(options: { port: number; host: string }): Promise<OpenDoor>;
}

export function createDoor(options: DoorOptions): Door {
  const limits: DoorLimits = { ...LIMITS, ...options.limits };
  const pages = new Map(Object.entries(options.pages ?? {}));
  const addressOf = addressReader(options.trustedProxies ?? []);
  const calls = new CallList();
  const { router, appOf } = buildTables(options.apps);
  const serveRest = createRestDoor(limits);
  const rpcDoor = createRpcDoor(appOf, limits);
  const visible = (rpc: RpcInfo): boolean => appOf.get(rpc.id)?.gate(rpc) !== 'hidden';
  let closing = false;

  const record = (exchange: Exchange, protocol: Protocol, status: number, error?: ApiError, rpc?: RpcInfo): void => {
    if (error !== undefined && error.status >= 500 && error.cause !== undefined) {
      options.log.error({ requestId: exchange.requestId, rpc: rpc?.id, err: error.cause }, `${rpc?.id ?? 'request'} failed: ${error.code}`);
    }
    options.onCall?.({
      ...(rpc !== undefined && { rpc }),
      protocol,
      requestId: exchange.requestId,
      remoteAddress: exchange.remoteAddress,
      method: exchange.request.method ?? '',
      status,
      ...(error !== undefined && { code: error.code }),
      ms: performance.now() - exchange.startedMs,
    });
  };

  const onSettled: OnSettled = (call, status, error) => {
    calls.remove(call);
    record(call.exchange, call.protocol, status, error, call.rpc);
  };

  const startCall = (exchange: Exchange, rpc: RpcInfo, protocol: Protocol): ActiveCall => {
    const call = new ActiveCall(exchange, rpc, protocol, onSettled);
    calls.add(call);
    return call;
  };

  /** An answer without an RPC: unknown path, wrong verb, unreadable head. */
  const refuse = (exchange: Exchange, error: ApiError): void => {
    replyError(exchange.response, error, exchange.requestId, exchange.headers);
    record(exchange, 'rest', error.status, error);
  };

  const serveMatch = (exchange: Exchange, match: Match<RestTarget>, query: string): void => {
    const { rpc, app } = match.target;
    const call = startCall(exchange, rpc, 'rest');
    if (app.gate(rpc) === 'open') void serveRest(call, match, query);
    else failRest(call, featureDisabled(rpc));
  };

  const servePage = async (exchange: Exchange, page: Page, { path, query }: RequestTarget): Promise<void> => {
    const { request, response, requestId, headers } = exchange;
    try {
      const header = (name: string): string | undefined => request.headers[name]?.toString();
      const { status = 200, headers: own, body } = await page({ path, query, requestId, header });
      reply(response, status, Object.assign(headers, own), body);
      record(exchange, 'rest', status);
    } catch (error) {
      refuse(exchange, toApiError(error));
    }
  };

  const serveRpc = (exchange: Exchange, entry: RpcEntry, query: string): void => {
    const call = startCall(exchange, entry.rpc, rpcDoor.protocolOf(exchange.request));
    const disabled = entry.app.gate(entry.rpc) !== 'open';
    void rpcDoor.serve({ call, entry, query, ...(disabled && { refusal: featureDisabled(entry.rpc) }) });
  };

  const route = (exchange: Exchange): void => {
    const { request } = exchange;
    assertUnambiguous(request);
    const target = parseTarget(request);
    const method = request.method ?? '';
    const entry = rpcDoor.find(target.path);
    if (entry !== undefined && visible(entry.rpc)) return serveRpc(exchange, entry, target.query);
    const page = pages.get(target.path);
    if (page !== undefined) {
      if (method !== 'GET' && method !== 'HEAD') throw wrongVerb(method, target.path, ['GET', 'HEAD']);
      return void servePage(exchange, page, target);
    }
    const routed = router.find(method, target.path, visible);
    if ('target' in routed && !(method === 'HEAD' && isStream(routed.target.rpc))) return serveMatch(exchange, routed, target.query);
    const allow = 'target' in routed ? ['GET'] : withHead(routed.allow);
    if (allow.length === 0) throw apiError('not_found', `there is nothing at ${method} ${target.path.slice(0, 200)}`);
    throw wrongVerb(method, target.path, allow);
  };

  const handler = (request: NodeRequest, response: NodeResponse): void => {
    const inbound = request.headers['x-request-id'];
    const requestId = requestIdOf(typeof inbound === 'string' ? inbound : undefined);
    const headers = baseHeaders(requestId, options.hsts === true);
    if (closing && request.httpVersionMajor === 1) headers['connection'] = 'close';
    const exchange = new Exchange(request, response, { requestId, remoteAddress: addressOf(request) }, headers);
    try {
      route(exchange);
    } catch (error) {
      refuse(exchange, toApiError(error));
    }
  };

  const close = async (listener: Listener, graceMs: number): Promise<void> => {
    closing = true;
    listener.drain();
    const stopping = apiError('unavailable', 'this process is stopping; call again', { retryAfterMs: 1000 });
    calls.forEach((call) => {
      if (isStream(call.rpc)) call.abort(stopping);
    });
    await drained(calls, graceMs);
    calls.forEach((call) => call.abort(stopping));
    // Whoever listens to the signal gets a moment to say goodbye.
    await drained(calls, Math.min(1000, graceMs));
    if (calls.size > 0) options.log.warn({ calls: calls.size }, 'calls were cut off at the end of the grace period');
    await listener.destroy();
  };

  return {
    handler,
    async listen({ port, host }) {
      const listener = await listen({ port, host, limits, onRequest: handler });
      let closed: Promise<void> | undefined;
      return { port: listener.port, close: (graceMs) => (closed ??= close(listener, graceMs)) };
    },
  };
}

function buildTables(apps: readonly App<unknown>[]): { router: Router<RestTarget>; appOf: Map<string, App<unknown>> } {
  const router = createRouter<RestTarget>();
  const appOf = new Map<string, App<unknown>>();
  for (const app of apps) {
    for (const rpc of app.rpcs) {
      if (appOf.has(rpc.id)) throw new Error(`${rpc.id} is served by two apps of this process`);
      appOf.set(rpc.id, app);
      for (const route of rpc.routes) router.add({ rpc, route, app, codec: compileRoute(rpc, route) });
    }
  }
  return { router, appOf };
}

function isStream(rpc: RpcInfo): boolean {
  return rpc.desc.methodKind === 'server_streaming';
}

function featureDisabled(rpc: RpcInfo): ApiError {
  const feature = rpc.feature ?? '';
  return apiError('feature_disabled', `the platform feature ${feature} is disabled on this environment`, { details: { feature } });
}

function wrongVerb(method: string, path: string, allow: readonly string[]): ApiError {
  return apiError('method_not_allowed', `${method} is not possible at ${path.slice(0, 200)}, ${allow.join(', ')} is`, { headers: { allow: allow.join(', ') } });
}

function withHead(allow: readonly string[]): readonly string[] {
  return allow[0] === 'GET' ? ['GET', 'HEAD', ...allow.slice(1)] : allow;
}

/** Resolves when no call is left, or after the time. */
async function drained(calls: CallList, ms: number): Promise<void> {
  const endMs = performance.now() + ms;
  while (calls.size > 0 && performance.now() < endMs) {
    await new Promise((resolve) => {
      setTimeout(resolve, 10);
    });
  }
}
