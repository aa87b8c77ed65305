/**
 * Builds the HTTP layer that the server and the gateway share: one port, HTTP/1.1 and HTTP/2, and every RPC
 * reachable as REST, Connect, gRPC and gRPC-Web. The path alone decides which app and which RPC; then, on
 * every protocol, in this order: gate, admission from the head, body and its signature, decoding, validation,
 * the app. Closing waits until the call log has no call at work.
 */
import type { Places } from '../process/places.ts';
import type { ActiveCall, CallRecord } from './active-call.ts';
import type { App } from './call.ts';
import { addressList } from './address.ts';
import { createDispatch } from './dispatch.ts';
import { apiError, toApiError } from './errors.ts';
import { Exchange } from './exchange.ts';
import { inTurn } from './in-turn.ts';
import { createCallLog, type DoorLog } from './call-log.ts';
import { LIMITS, type DoorLimits } from './limits.ts';
import { listen, type Listener } from './listener.ts';
import { createPageTable, type Pages } from './pages.ts';
import { baseHeaders, type NodeRequest, type NodeResponse } from './reply.ts';
import { requestIdOf } from './request-id.ts';
import { addressReader } from './target.ts';

export type { CallRecord } from './active-call.ts';
export type { DoorLog } from './call-log.ts';
export type { Endpoint, EndpointRequest, Page, PageRequest, PageResponse, Pages } from './pages.ts';

export interface DoorOptions {
  /** Apps of one process; no RPC may be in two of them. */
  readonly apps: readonly App<unknown>[];
  readonly log: DoorLog;
  readonly limits?: Partial<DoorLimits>;
  readonly pages?: Pages;
  /** Addresses or CIDR ranges of proxies whose X-Forwarded-For is believed. Default: none. */
  readonly trustedProxies?: readonly string[];
  /** Told once, of the first X-Forwarded-For that is not believed. */
  readonly onUntrustedProxy?: () => void;
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
  /** Serves what somebody else listens for. */
  readonly handler: (request: NodeRequest, response: NodeResponse) => void;
  listen(options: { port: number; host: string }): Promise<OpenDoor>;
}

export function createDoor(options: DoorOptions): Door {
  const limits: DoorLimits = { ...LIMITS, ...options.limits };
  const callLog = createCallLog(options.log, options.onCall);
  const pages = createPageTable(options.pages ?? {});
  const dispatch = createDispatch({ apps: options.apps, pages, limits, callLog });
  const addressOf = addressReader(options.trustedProxies ?? [], warnOnce(options));
  let closing = false;

  const handler = (request: NodeRequest, response: NodeResponse): void => {
    const inbound = request.headers['x-request-id'];
    const requestId = requestIdOf(typeof inbound === 'string' ? inbound : undefined);
    const headers = baseHeaders(requestId, options.hsts === true);
    if (closing && request.httpVersionMajor === 1) headers['connection'] = 'close';
    const exchange = new Exchange({
      request,
      response,
      requestId,
      remoteAddress: addressOf(request),
      headers,
    });
    try {
      dispatch(exchange);
    } catch (error) {
      callLog.refuse(exchange, toApiError(error));
    }
  };

  return {
    handler,
    async listen({ port, host }) {
      const onRequest = inTurn(handler, { limits, isProxy: addressList(options.trustedProxies ?? []) });
      const listener = await listen({ port, host, limits, onRequest });
      let closed: Promise<void> | undefined;
      const close = (graceMs: number): Promise<void> => {
        closing = true;
        return closeDoor(listener, { calls: callLog.calls, log: options.log }, graceMs);
      };
      return { port: listener.port, close: (graceMs) => (closed ??= close(graceMs)) };
    },
  };
}

/**
 * Behind a proxy that is not believed everybody has the proxy's address, and is counted together. Once: a
 * client may make the header up.
 */
function warnOnce({ log, onUntrustedProxy }: DoorOptions): (peer: string) => void {
  let told = false;
  return (peer) => {
    if (told) return;
    told = true;
    log.warn(
      { peer },
      `${peer} sends X-Forwarded-For and is not in TRUSTED_PROXIES: all who come through it are counted as one client. ` +
        `If it is your proxy, set TRUSTED_PROXIES=${peer} (or its range); if it is not, a client made the header up, and it was ignored`,
    );
    onUntrustedProxy?.();
  };
}

async function closeDoor(
  listener: Listener,
  { calls, log }: { readonly calls: Places<ActiveCall>; readonly log: DoorLog },
  graceMs: number,
): Promise<void> {
  listener.drain();
  const stopping = apiError('unavailable', 'this process is stopping; call again', { retryAfterMs: 1000 });
  // A stream would use up the whole grace; its client knows how to go on elsewhere.
  for (const call of calls) if (call.rpc.desc.methodKind !== 'unary') call.abort(stopping);
  await drained(calls, graceMs);
  for (const call of calls) call.abort(stopping);
  // Whoever listens to the signal gets a moment to say goodbye.
  await drained(calls, Math.min(1000, graceMs));
  if (calls.size > 0) log.warn({ calls: calls.size }, 'calls were cut off at the end of the grace period');
  await listener.destroy();
}

/** Resolves when no call is left, or after the time. */
async function drained(calls: Places<ActiveCall>, ms: number): Promise<void> {
  const endMs = performance.now() + ms;
  while (calls.size > 0 && performance.now() < endMs) {
    await new Promise((resolve) => {
      setTimeout(resolve, 10);
    });
  }
}
