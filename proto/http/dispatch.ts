/** Finds who answers a path: an RPC by its name, a page, a REST route, or nobody. */
import type { App } from './call.ts';
import { createRpcDoor, type RpcEntry } from './connect-doors.ts';
import { apiError, type ApiError } from './errors.ts';
import type { Exchange } from './exchange.ts';
import { featureDisabled, isShut } from './feature-disabled.ts';
import type { CallLog } from './call-log.ts';
import type { DoorLimits } from './limits.ts';
import { servePage, verbsOf, type FoundPage, type PageTable } from './pages.ts';
import { createRestDoor, failRest, type RestTarget } from './rest.ts';
import { createRouter, type Match, type Router, type Visible } from './router.ts';
import type { RpcInfo } from './rpc.ts';
import { assertPlainHead, parseTarget, type RequestTarget } from './target.ts';
import { compileRoute } from './transcode.ts';
import { UNKNOWN_ROUTE } from './unknown-route.ts';

/** Throws an ApiError for a request that nobody answers. */
export type Dispatch = (exchange: Exchange) => void;

export interface DispatchOptions {
  readonly apps: readonly App<unknown>[];
  readonly pages: PageTable;
  readonly limits: DoorLimits;
  readonly callLog: CallLog;
}

export function createDispatch({ apps, pages, limits, callLog }: DispatchOptions): Dispatch {
  const { router, appOf } = buildTables(apps);
  const serveRest = createRestDoor(limits);
  const rpcDoor = createRpcDoor(appOf, limits);
  const visible = (rpc: RpcInfo): Visible => {
    const gate = appOf.get(rpc.id)?.gate(rpc);
    return gate === 'unlisted' ? gate : gate !== 'hidden';
  };

  const dispatchRest = (exchange: Exchange, match: Match<RestTarget>, query: string): void => {
    const { rpc, app } = match.target;
    const call = callLog.startCall(exchange, rpc, 'rest');
    if (isShut(app.gate(rpc))) failRest(call, featureDisabled(rpc.feature));
    else void serveRest(call, match, query);
  };

  const dispatchRpc = (exchange: Exchange, entry: RpcEntry, query: string): void => {
    const call = callLog.startCall(exchange, entry.rpc, rpcDoor.protocolOf(exchange.request));
    const disabled = isShut(entry.app.gate(entry.rpc));
    void rpcDoor.serve({
      call,
      entry,
      query,
      ...(disabled && { refusal: featureDisabled(entry.rpc.feature) }),
    });
  };

  const dispatchPage = (exchange: Exchange, found: FoundPage, target: RequestTarget): void => {
    const method = exchange.request.method ?? '';
    const verbs = verbsOf(found.page);
    if (!verbs.includes(method)) throw wrongVerb(method, target.path, verbs);
    void servePage(exchange, { ...found, target }, { callLog, limits });
  };

  return (exchange) => {
    const { request } = exchange;
    assertPlainHead(request, limits.headerBytesMax);
    const target = parseTarget(request);
    const entry = rpcDoor.find(target.path);
    if (entry !== undefined && visible(entry.rpc) !== false)
      return dispatchRpc(exchange, entry, target.query);
    const page = pages.exact(target.path);
    if (page !== undefined) return dispatchPage(exchange, page, target);
    const method = request.method ?? '';
    const routed = router.find(method, target.path, visible);
    if (!('target' in routed)) {
      const ending = routed.allow.length === 0 ? pages.ending(target.path) : undefined;
      if (ending !== undefined) return dispatchPage(exchange, ending, target);
      throw nobody(method, target.path, routed.allow);
    }
    // The head of a stream could not be known without beginning it.
    if (method === 'HEAD' && routed.target.rpc.desc.methodKind !== 'unary')
      throw wrongVerb(method, target.path, ['GET']);
    dispatchRest(exchange, routed, target.query);
  };
}

function buildTables(apps: readonly App<unknown>[]): {
  router: Router<RestTarget>;
  appOf: Map<string, App<unknown>>;
} {
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

function nobody(method: string, path: string, allow: readonly string[]): ApiError {
  if (allow.length === 0) return apiError('not_found', UNKNOWN_ROUTE);
  return wrongVerb(method, path, allow[0] === 'GET' ? ['GET', 'HEAD', ...allow.slice(1)] : allow);
}

function wrongVerb(method: string, path: string, allow: readonly string[]): ApiError {
  const verbs = allow.join(', ');
  return apiError('method_not_allowed', `${method} is not possible at ${path.slice(0, 200)}, ${verbs} is`, {
    headers: { allow: verbs },
  });
}
