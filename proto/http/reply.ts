/** Writes what leaves the door: status, headers, body, and the one shape of errors. */
import type { IncomingMessage } from 'node:http';
import { constants, type Http2ServerRequest } from 'node:http2';
import { errorBody, type ApiError } from './errors.ts';

export type NodeRequest = IncomingMessage | Http2ServerRequest;
export type ReplyHeaders = Record<string, string | number>;

/**
 * A response of node:http or node:http2, as far as they have parts in common; their own types share no
 * callable signature.
 */
export interface NodeResponse {
  readonly headersSent: boolean;
  readonly writableEnded: boolean;
  writeHead(status: number, headers: ReplyHeaders): unknown;
  /** HTTP/1.1 would keep the head for the first bytes of the body; HTTP/2 sends it with writeHead. */
  flushHeaders?(): unknown;
  write(chunk: string | Uint8Array): boolean;
  end(chunk?: string | Uint8Array): unknown;
  end(chunk: string, encoding: 'latin1'): unknown;
  once(event: 'close' | 'drain', listener: () => void): unknown;
  off(event: 'close' | 'drain', listener: () => void): unknown;
  setHeader(name: string, value: string | number): unknown;
  addTrailers(headers: Record<string, string>): void;
  /** HTTP/2 alone. */
  readonly stream?: { close(code: number): void };
  destroy(): unknown;
}

/** It returns the headers of every response of the door; an RPC's own headers override them. */
export function baseHeaders(requestId: string, hsts: boolean): ReplyHeaders {
  const headers: ReplyHeaders = {
    'x-request-id': requestId,
    'cache-control': 'no-store',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'cross-origin-resource-policy': 'same-origin',
  };
  if (hsts) headers['strict-transport-security'] = 'max-age=63072000; includeSubDomains';
  return headers;
}

export interface Reply {
  readonly status: number;
  /** Gets the length of the body. */
  readonly headers: ReplyHeaders;
  readonly body?: string | Uint8Array | undefined;
}

/** Sends a whole response. Does nothing when the response has begun or the client is gone. */
export function reply(response: NodeResponse, { status, headers, body }: Reply): void {
  if (response.headersSent || response.writableEnded) return;
  if (body === undefined) {
    // 204 and 304 must not name a length; any other empty answer says so, which keeps the connection usable.
    if (status !== 204 && status !== 304) headers['content-length'] = 0;
    response.writeHead(status, headers);
    response.end();
    return;
  }
  const bytes = typeof body === 'string' ? Buffer.byteLength(body) : body.length;
  headers['content-length'] = bytes;
  response.writeHead(status, headers);
  // Plain ASCII is the same in both encodings, and cheaper to write as the one that needs no look at every
  // character.
  if (typeof body === 'string' && bytes === body.length) response.end(body, 'latin1');
  else response.end(body);
}

/** Ends an answer that has begun in a way that its reader notices. */
export function breakOff(response: NodeResponse): void {
  if (response.stream === undefined) response.destroy();
  else response.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
}

/** Headers that an error brings along. */
export function errorHeaders(error: ApiError): ReplyHeaders {
  const headers: ReplyHeaders = { ...error.headers };
  if (error.status === 401) headers['www-authenticate'] ??= 'Bearer';
  if (error.retryAfterMs !== undefined)
    headers['retry-after'] = Math.max(1, Math.ceil(error.retryAfterMs / 1000));
  return headers;
}

export function replyError(
  response: NodeResponse,
  error: ApiError,
  { requestId, headers }: { readonly requestId: string; readonly headers: ReplyHeaders },
): void {
  Object.assign(headers, errorHeaders(error), { 'content-type': 'application/json; charset=utf-8' });
  reply(response, { status: error.status, headers, body: JSON.stringify(errorBody(error, requestId)) });
}
