/**
 * Sends one call over all its attempts. What must hold: every attempt carries the same Idempotency-Key, no
 * attempt outlives `timeoutMs`, there are at most `maxRetries + 1` of them, and an abort ends the call at
 * once, also between attempts.
 */
import {
  apiError,
  readErrorBody,
  requestIdOf,
  SvcApiError,
  SvcConnectionError,
  unreadable,
} from './errors.ts';
import { printableHeaders, type Logger } from './log.ts';
import { backoffMs, retryAfterMs, shouldRetryStatus } from './retry.ts';
import type { Runtime } from './runtime.ts';
import { openScope, sleep, type Scope } from './scope.ts';

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface PreparedRequest {
  /** Method and path template, for messages and logs. */
  readonly label: string;
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly body: string | undefined;
}

export interface SendOptions {
  readonly fetch: Fetch;
  readonly runtime: Runtime;
  readonly logger: Logger | undefined;
  readonly signal: AbortSignal | undefined;
  /** Time limit of one attempt, from connecting to the last byte of the body. */
  readonly timeoutMs: number;
  readonly maxRetries: number;
}

/** A successful answer, read to its end. */
export interface Reply {
  readonly label: string;
  readonly status: number;
  readonly statusText: string;
  readonly headers: Headers;
  readonly bytes: ArrayBuffer;
}

/** It resolves with the whole answer after however many attempts; throws a SvcApiError. */
export function send(request: PreparedRequest, options: SendOptions): Promise<Reply> {
  return withRetries(request, options, async (attempt) => {
    const { response, scope } = await connect(attempt, options);
    try {
      const bytes = await readBytes(request, response, scope);
      if (!response.ok) throw errorOfAnswer(request, response, bytes);
      const { status, statusText, headers } = response;
      return { label: request.label, status, statusText, headers, bytes };
    } finally {
      scope.close();
    }
  });
}

export interface OpenAnswer {
  readonly response: Response;
  /** Still running; whoever reads the body closes it. */
  readonly scope: Scope;
}

/** Resolves with a successful answer whose body is not read yet, for streams; throws a SvcApiError. */
export function open(request: PreparedRequest, options: SendOptions): Promise<OpenAnswer> {
  return withRetries(request, options, async (attempt) => {
    const answer = await connect(attempt, options);
    if (answer.response.ok) return answer;
    try {
      throw errorOfAnswer(request, answer.response, await readBytes(request, answer.response, answer.scope));
    } finally {
      answer.scope.close();
    }
  });
}

async function withRetries<T>(
  request: PreparedRequest,
  options: SendOptions,
  attempt: (request: PreparedRequest) => Promise<T>,
): Promise<T> {
  const { runtime, logger, signal, maxRetries } = options;
  for (let retries = 0; ; retries += 1) {
    if (retries > 0) request.headers.set('x-svc-retry-count', String(retries));
    const startedAt = runtime.now();
    try {
      return await attempt(request);
    } catch (error) {
      if (!(error instanceof SvcApiError)) throw error;
      const again = error.retryable && retries < maxRetries;
      const pauseMs = again
        ? (retryAfterMs(error.headers, runtime.now()) ?? backoffMs(retries, runtime.random))
        : undefined;
      logger?.debug(`${request.label} failed`, {
        status: error.status,
        code: error.code,
        requestId: error.requestId,
        attempt: retries + 1,
        tookMs: runtime.now() - startedAt,
        nextAttemptInMs: pauseMs,
      });
      if (pauseMs === undefined) throw error;
      await sleep(pauseMs, { label: request.label, signal, runtime });
    }
  }
}

async function connect(request: PreparedRequest, options: SendOptions): Promise<OpenAnswer> {
  const { label, method, url, headers, body } = request;
  const { logger, runtime, signal, timeoutMs } = options;
  logger?.debug(label, { headers: printableHeaders(headers), bodyLength: body?.length ?? 0 });
  const scope = openScope({ label, signal, limitMs: timeoutMs, runtime });
  const startedAt = runtime.now();
  try {
    const init: RequestInit = { method, headers, redirect: 'manual', signal: scope.signal };
    if (body !== undefined) init.body = body;
    // An abort that came before the request went out must not send it.
    scope.signal.throwIfAborted();
    const response = await scope.race(options.fetch(url, init));
    logger?.debug(`${label} answered ${response.status}`, {
      headers: printableHeaders(response.headers),
      tookMs: runtime.now() - startedAt,
    });
    return { response, scope };
  } catch (error) {
    scope.close();
    throw connectionError(label, error);
  }
}

async function readBytes(request: PreparedRequest, response: Response, scope: Scope): Promise<ArrayBuffer> {
  try {
    return await scope.race(response.arrayBuffer());
  } catch (error) {
    throw connectionError(request.label, error);
  }
}

/** Whatever `fetch` rejects with is a network error, unless it is our own abort or timeout. */
export function connectionError(label: string, error: unknown): SvcApiError {
  if (error instanceof SvcApiError) return error;
  return new SvcConnectionError(`${label} got no answer: ${deepestMessage(error)}`, { cause: error });
}

/** Node says "fetch failed" and hides the reason one or two causes down. */
function deepestMessage(error: unknown): string {
  let deepest = error;
  for (let depth = 0; depth < 5 && deepest instanceof Error && deepest.cause !== undefined; depth += 1) {
    deepest = deepest.cause;
  }
  if (!(deepest instanceof Error)) return String(deepest);
  const code = 'code' in deepest && typeof deepest.code === 'string' ? deepest.code : undefined;
  return deepest.message === '' ? (code ?? deepest.name) : deepest.message;
}

function errorOfAnswer(request: PreparedRequest, response: Response, bytes: ArrayBuffer): SvcApiError {
  const { status, headers } = response;
  const text = new TextDecoder().decode(bytes);
  const body = parseJson(text) ?? (text === '' ? undefined : text);
  const error = readErrorBody(body);
  return apiError(error.message ?? fallbackMessage(request, response), {
    status,
    code: error.code ?? (isRedirect(response) ? 'redirected' : `http_${status}`),
    body,
    retryable: shouldRetryStatus(status, headers, body),
    requestId: requestIdOf(headers) ?? error.requestId,
    headers,
  });
}

function isRedirect(response: Response): boolean {
  const { status, type } = response;
  // 304 sends nobody anywhere: it is the answer to the caller's own `If-None-Match`.
  return type === 'opaqueredirect' || (status >= 300 && status < 400 && status !== 304);
}

/** Redirects are not followed: a POST would become a GET, or carry its credential to another host. */
function fallbackMessage(request: PreparedRequest, response: Response): string {
  if (isRedirect(response)) {
    const location = response.headers.get('location');
    return `${request.label} was redirected${location === null ? '' : ` to ${location}`}; set baseUrl to the final address`;
  }
  return `${request.label} answered ${response.status} without a readable error body`;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // It is an error page of something between us and the server: the text itself is all there is to show.
    return undefined;
  }
}

/**
 * Reads the data of a successful answer. Only JSON (and CSV, as text) is data: a proxy's HTML page with
 * status 200 is not.
 */
export function decodeReply(reply: Reply): unknown {
  if (reply.bytes.byteLength === 0) return undefined;
  const type = (reply.headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  const text = new TextDecoder().decode(reply.bytes);
  if (type === 'text/csv') return text;
  const isJson = type === 'application/json' || type.endsWith('+json');
  const data = isJson ? parseJson(text) : undefined;
  if (data !== undefined) return data;
  const what = isJson ? 'unreadable JSON' : `${type === '' ? 'no content type' : type} instead of JSON`;
  throw unreadable(`${reply.label} answered ${reply.status} with ${what}`, { ...reply, body: text });
}
