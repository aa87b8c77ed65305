/**
 * This file holds one call from the first byte of its head to its last: identity, deadline, the client's
 * presence, and the promise that it is settled exactly once. Owned by the door; handlers see it as
 * CallContext.
 *
 * States: open → settled. Whoever settles first wins: the answer, an error, the deadline or the client's
 * leaving. `abort` settles nothing by itself; it wakes whoever waits on the signal.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { AbortListener, CallContext, Protocol, UnaryCall } from './call.ts';
import { apiError, type ApiError } from './errors.ts';
import type { Exchange } from './exchange.ts';
import { leaveTurn } from './in-turn.ts';
import type { NodeRequest, NodeResponse, ReplyHeaders } from './reply.ts';
import type { RpcInfo } from './rpc.ts';

/**
 * For logs and metrics, once per request: all fields always there, because spreading optional ones was 3 % of
 * a small GET.
 */
export interface CallRecord {
  /** Absent when no RPC was reached. */
  readonly rpc: RpcInfo | undefined;
  readonly protocol: Protocol;
  readonly requestId: string;
  readonly remoteAddress: string;
  readonly method: string;
  /** HTTP status; for gRPC the one that REST would have had. 499: the client left. */
  readonly status: number;
  /** Error code, absent on success. */
  readonly code: string | undefined;
  readonly ms: number;
}

/** Told once per call, when its answer is decided. */
export type OnSettled = (call: ActiveCall, status: number, error: ApiError | undefined) => void;

const NO_HEADERS: IncomingHttpHeaders = {};
const NO_LINES: string[] = [];

export interface ActiveCallOptions {
  readonly exchange: Exchange;
  readonly rpc: RpcInfo;
  readonly protocol: Protocol;
  readonly onSettled: OnSettled;
}

export class ActiveCall implements UnaryCall {
  readonly exchange: Exchange;
  readonly rpc: RpcInfo;
  readonly protocol: Protocol;
  status?: number;
  onAborted: AbortListener | undefined = undefined;
  /** Finds it among the calls at work. */
  place = -1;
  #settled = false;
  #controller: AbortController | undefined;
  #responseHeaders: Map<string, string> | undefined;
  #abortedBy: ApiError | undefined;
  #deadline: NodeJS.Timeout | undefined;
  readonly #onSettled: OnSettled;

  constructor({ exchange, rpc, protocol, onSettled }: ActiveCallOptions) {
    this.exchange = exchange;
    this.rpc = rpc;
    this.protocol = protocol;
    this.#onSettled = onSettled;
    // It listens to `close` of the response and not of the request, which closes as soon as its body is read.
    exchange.response.once('close', () => this.#clientLeft());
  }

  get requestId(): string {
    return this.exchange.requestId;
  }

  get remoteAddress(): string {
    return this.exchange.remoteAddress;
  }

  get request(): NodeRequest {
    return this.exchange.request;
  }

  get response(): NodeResponse {
    return this.exchange.response;
  }

  header(name: string): string | undefined {
    const value = this.request.headers[name];
    return Array.isArray(value) ? value.join(', ') : value;
  }

  forgetHead(): void {
    const { request, response } = this;
    leaveTurn(response);
    // HTTP/2 offers no way to it.
    if ('stream' in request) return;
    request.headers = NO_HEADERS;
    request.rawHeaders = NO_LINES;
  }

  /** Made on first use, as everything here that most calls do without. */
  get responseHeaders(): Map<string, string> {
    return (this.#responseHeaders ??= new Map());
  }

  /** The headers of the answer, what the handler has set so far over the door's own. */
  finalHeaders(): ReplyHeaders {
    const { headers } = this.exchange;
    if (this.#responseHeaders !== undefined)
      for (const [name, value] of this.#responseHeaders) headers[name] = value;
    return headers;
  }

  /** Made on first use: most unary handlers end before anybody asks. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#abortedBy !== undefined) this.#controller.abort(this.#abortedBy);
    }
    return this.#controller.signal;
  }

  get aborted(): boolean {
    return this.#abortedBy !== undefined;
  }

  get settled(): boolean {
    return this.#settled;
  }

  /** `onDeadline` runs at most once, and not after the call was settled. */
  startDeadline(timeoutMs: number, onDeadline: (error: ApiError) => void): void {
    this.#deadline = setTimeout(() => {
      const error = apiError('deadline_exceeded', `the call was not done after ${timeoutMs} ms`);
      this.abort(error);
      if (!this.#settled) onDeadline(error);
    }, timeoutMs);
    // The process lives by its listener. Node keeps the list of timers of one length only for those that it
    // need not wait for, and would otherwise make and drop that list for nearly every call.
    this.#deadline.unref();
  }

  /** Tells whoever waits on the signal to give up. The first reason stands. */
  abort(error: ApiError): void {
    if (this.#abortedBy !== undefined) return;
    this.#abortedBy = error;
    this.#controller?.abort(error);
    this.onAborted?.handleAborted();
  }

  /** True for the first caller, who then owns the response. */
  settle(status: number, error?: ApiError): boolean {
    if (this.#settled) return false;
    this.#settled = true;
    clearTimeout(this.#deadline);
    this.#onSettled(this, status, error);
    return true;
  }

  #clientLeft(): void {
    if (this.#settled) return;
    const error = apiError('client_closed', 'the client closed the connection');
    this.abort(error);
    this.settle(error.status, error);
  }
}

/** 24 days, the most that a Node timer holds. */
const TIMEOUT_MAX_MS = 2_147_483_647;

/**
 * What the client allows, capped by what the contract allows. Throws `validation_failed` on a hint that
 * cannot be read.
 */
export function deadlineMs(rpc: RpcInfo, call: Pick<CallContext, 'header' | 'protocol'>): number {
  const most = Math.min(rpc.timeoutMs, TIMEOUT_MAX_MS);
  const grpc = call.protocol === 'grpc' || call.protocol === 'grpcweb';
  const hint = grpc ? call.header('grpc-timeout') : call.header('connect-timeout-ms');
  if (hint === undefined) return most;
  const asked = grpc ? grpcTimeoutMs(hint) : /^\d{1,10}$/.test(hint) ? Number(hint) : undefined;
  if (asked === undefined) {
    throw apiError(
      'request_invalid',
      `the header ${grpc ? 'grpc-timeout' : 'connect-timeout-ms'} cannot be read: "${hint.slice(0, 40)}"`,
    );
  }
  return Math.min(asked, most);
}

const GRPC_UNIT_MS: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1000,
  m: 1,
  u: 0.001,
  n: 0.000_001,
};

function grpcTimeoutMs(hint: string): number | undefined {
  const match = /^(\d{1,8})([HMSmun])$/.exec(hint);
  return match === null ? undefined : Number(match[1]) * (GRPC_UNIT_MS[match[2] ?? ''] ?? 0);
}
