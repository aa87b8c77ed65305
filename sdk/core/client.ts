/** This is the one object behind all resources: it holds the options and turns operations into calls. */
import { ApiPromise } from './api-promise.ts';
import { ByteStream } from './byte-stream.ts';
import { isRecord } from './errors.ts';
import { EventStream } from './event-stream.ts';
import { refuseUnknown } from './known-names.ts';
import type { Logger } from './log.ts';
import type { Operation } from './operation.ts';
import { PagePromise, type Page } from './page-promise.ts';
import { CALL_OPTIONS } from './params.ts';
import { systemRuntime, type Runtime } from './runtime.ts';
import {
  decodeReply,
  open,
  send,
  type Fetch,
  type PreparedRequest,
  type Reply,
  type SendOptions,
} from './send.ts';
import { requestParts } from './url.ts';
import { SDK_VERSION } from './version.ts';

export type { ApiPromise, WithResponse } from './api-promise.ts';
export type { ByteStream } from './byte-stream.ts';
export type { EventStream } from './event-stream.ts';
export type { Page, PagePromise } from './page-promise.ts';

export const DEFAULT_BASE_URL = 'http://localhost:8080';
export const DEFAULT_TIMEOUT_MS = 8_000;
export const DEFAULT_MAX_RETRIES = 2;
/** Most items that lists give in one page, unless their operation says otherwise. */
const PAGE_MAX = 200;

/** Everything is explicit: no environment variable is read. */
export interface ClientOptions {
  /** Address of the service. Default: `http://localhost:8080`. */
  readonly baseUrl?: string | undefined;
  /** Sent as `Authorization: Bearer …`. */
  readonly apiKey?: string | undefined;
  /** The same as `apiKey`, for session tokens. */
  readonly token?: string | undefined;
  /** Used by operations on an environment when none is passed. */
  readonly environmentId?: string | undefined;
  /** Added to every request. */
  readonly defaultHeaders?: Readonly<Record<string, string>> | undefined;
  /** Logs every attempt, without secrets, to `logger` or the console. */
  readonly debug?: boolean | undefined;
  /**
   * Time limit of one attempt, in milliseconds. Default: 8000; of the few operations for which the server
   * takes longer, as long as it may take. With two retries a call of 8 s takes at most about 25.5 s.
   */
  readonly timeoutMs?: number | undefined;
  /** Further attempts after the first. Default: 2. */
  readonly maxRetries?: number | undefined;
  /** Instead of the global `fetch`. */
  readonly fetch?: Fetch | undefined;
  /** Logger that `debug` writes to. Default: the console. */
  readonly logger?: Logger | undefined;
}

const CLIENT_OPTIONS: Readonly<Record<keyof ClientOptions, true>> = {
  baseUrl: true,
  apiKey: true,
  token: true,
  environmentId: true,
  defaultHeaders: true,
  debug: true,
  timeoutMs: true,
  maxRetries: true,
  fetch: true,
  logger: true,
};

export interface CallOptions {
  /**
   * Instead of a fresh value, for calls other than GET: repeat a call with the same key and its effect
   * happens once.
   */
  readonly idempotencyKey?: string | undefined;
  /** Ends the call at once, also while it waits between two attempts. */
  readonly signal?: AbortSignal | undefined;
  /** Time limit of one attempt, in milliseconds. */
  readonly timeoutMs?: number | undefined;
  readonly maxRetries?: number | undefined;
  /** Added to this request; `null` takes a default header away. */
  readonly headers?: Readonly<Record<string, string | null>> | undefined;
}

type Input = Readonly<Record<string, unknown>>;

export class Client {
  readonly #baseUrl: string;
  readonly #options: ClientOptions;
  readonly #headers: Headers;
  readonly #logger: Logger | undefined;
  readonly #runtime: Runtime;

  /** `runtime` is for tests. */
  constructor(options: ClientOptions = {}, runtime: Runtime = systemRuntime) {
    refuseUnknown(options, { where: 'createSvcSDK', known: Object.keys(CLIENT_OPTIONS) });
    this.#baseUrl = checkedBaseUrl(options.baseUrl ?? DEFAULT_BASE_URL);
    checkNumber('timeoutMs', options.timeoutMs, 1);
    checkNumber('maxRetries', options.maxRetries, 0);
    this.#options = options;
    this.#headers = defaultHeaders(options);
    this.#logger = options.debug === true ? (options.logger ?? console) : undefined;
    this.#runtime = runtime;
  }

  /** Makes one request, and gives its answer. */
  call<T>(operation: Operation, input: Input = {}, options: CallOptions = {}): ApiPromise<T> {
    return new ApiPromise<T>(this.#send(operation, input, options), (reply) => {
      const data = decodeReply(reply);
      if (operation.returns === undefined) return data as T;
      return ((isRecord(data) ? data[operation.returns] : data) ?? null) as T;
    });
  }

  /** Makes one request that is answered with bytes. */
  bytes(operation: Operation, input: Input = {}, options: CallOptions = {}): ApiPromise<Uint8Array> {
    return new ApiPromise(this.#send(operation, input, options), ({ bytes }) => new Uint8Array(bytes));
  }

  /**
   * Gives an answer of bytes as they come. `timeoutMs` limits connecting; it is given up after 45 s of
   * silence.
   */
  byteStream(operation: Operation, input: Input = {}, options: CallOptions = {}): ByteStream {
    return new ByteStream({
      label: labelOf(operation),
      signal: options.signal,
      open: async (signal) =>
        open(this.#prepare(operation, input, options), this.#sendOptions(operation, { ...options, signal })),
    });
  }

  /** Gives a list over all its pages, or over as many as `limit` items take. */
  list<T>(operation: Operation, input: Input = {}, options: CallOptions = {}): PagePromise<T> {
    const { items: itemsField = 'items', pageMax = PAGE_MAX } = operation;
    const { cursor: firstCursor, limit } = input;
    const fetchPage = async (cursor: string | undefined, left: number): Promise<Page<T>> => {
      checkLimit(operation, limit);
      const size = limit === undefined ? {} : { limit: Math.min(left, pageMax) };
      const reply = await this.#send(operation, { ...input, ...size, cursor }, options);
      const data = decodeReply(reply);
      const items = isRecord(data) ? data[itemsField] : undefined;
      const nextCursor = isRecord(data) ? data['nextCursor'] : undefined;
      return {
        items: Array.isArray(items) ? (items as T[]) : [],
        ...(typeof nextCursor === 'string' && nextCursor !== '' ? { nextCursor } : {}),
      };
    };
    return new PagePromise(fetchPage, {
      ...(typeof firstCursor === 'string' && { cursor: firstCursor }),
      ...(typeof limit === 'number' && { limit }),
    });
  }

  /**
   * Opens a server stream. `timeoutMs` limits connecting; an open stream is given up after 45 s of silence.
   */
  stream<T>(operation: Operation, input: Input = {}, options: CallOptions = {}): EventStream<T> {
    const label = labelOf(operation);
    const { maxRetries } = this.#sendOptions(operation, options);
    // One key for the whole stream: connecting again is a repetition of the same call.
    const idempotencyKey = options.idempotencyKey ?? this.#runtime.uuid();
    return new EventStream<T>({
      label,
      runtime: this.#runtime,
      signal: options.signal,
      maxRetries,
      open: async (lastEventId, signal) => {
        // The header alone says where to go on; the caller's own starting point is behind us.
        const resume = lastEventId === undefined ? undefined : operation.stream?.resume;
        const rest = resume === undefined ? input : { ...input, [resume]: undefined };
        const request = this.#prepare(operation, rest, { ...options, idempotencyKey });
        request.headers.set('accept', 'text/event-stream');
        if (lastEventId !== undefined) request.headers.set('last-event-id', lastEventId);
        return open(request, this.#sendOptions(operation, { ...options, signal }));
      },
    });
  }

  async #send(operation: Operation, input: Input, options: CallOptions): Promise<Reply> {
    return send(this.#prepare(operation, input, options), this.#sendOptions(operation, options));
  }

  #prepare(operation: Operation, input: Input, options: CallOptions): PreparedRequest {
    const where = labelOf(operation);
    refuseUnknown(options, { where, known: CALL_OPTIONS });
    const { fields } = operation;
    if (fields !== undefined) refuseUnknown(input, { where, known: [...fields, ...CALL_OPTIONS] });
    const { target, body } = requestParts(operation, this.#withEnvironment(operation, input));
    const headers = new Headers(this.#headers);
    if (body !== undefined) headers.set('content-type', 'application/json');
    if (operation.raw === true) headers.set('accept', '*/*');
    if (operation.method !== 'GET')
      headers.set('idempotency-key', options.idempotencyKey ?? this.#runtime.uuid());
    // A call that waits at the server ends its wait before ours is over.
    if (operation.timeoutMs !== undefined) {
      const waitMs = Math.min(this.#timeoutMs(operation, options), operation.timeoutMs);
      headers.set('connect-timeout-ms', String(Math.ceil(waitMs)));
    }
    for (const [name, value] of Object.entries(options.headers ?? {})) {
      if (value === null) headers.delete(name);
      else headers.set(name, value);
    }
    return {
      label: where,
      method: operation.method,
      url: this.#baseUrl + target,
      headers,
      body,
    };
  }

  #withEnvironment(operation: Operation, input: Input): Input {
    const { environmentId } = this.#options;
    const missing = input['environmentId'] === undefined && operation.path.includes('{environmentId}');
    return missing && environmentId !== undefined ? { ...input, environmentId } : input;
  }

  #timeoutMs(operation: Operation, options: CallOptions): number {
    return options.timeoutMs ?? this.#options.timeoutMs ?? operation.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  }

  #sendOptions(operation: Operation, options: CallOptions): SendOptions {
    checkNumber('timeoutMs', options.timeoutMs, 1);
    checkNumber('maxRetries', options.maxRetries, 0);
    return {
      // Looked up at each call, so that a page or a test may replace the global one.
      fetch: this.#options.fetch ?? ((url, init) => globalThis.fetch(url, init)),
      runtime: this.#runtime,
      logger: this.#logger,
      signal: options.signal,
      timeoutMs: this.#timeoutMs(operation, options),
      maxRetries: options.maxRetries ?? this.#options.maxRetries ?? DEFAULT_MAX_RETRIES,
    };
  }
}

function labelOf(operation: Operation): string {
  return `${operation.method} ${operation.path}`;
}

function checkLimit(operation: Operation, limit: unknown): void {
  if (limit === undefined || (Number.isSafeInteger(limit) && Number(limit) >= 1)) return;
  throw new TypeError(`${labelOf(operation)}: limit must be a whole number from 1 on, got ${String(limit)}`);
}

function checkedBaseUrl(baseUrl: string): string {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '') {
    throw new TypeError(
      `baseUrl must be an http or https address without query, got ${JSON.stringify(baseUrl)}`,
    );
  }
  return url.href.replace(/\/+$/, '');
}

function checkNumber(name: string, value: number | undefined, least: number): void {
  if (value === undefined) return;
  if (!Number.isFinite(value) || value < least)
    throw new TypeError(`${name} must be at least ${least}, got ${value}`);
}

function defaultHeaders(options: ClientOptions): Headers {
  const { apiKey, token } = options;
  if (apiKey !== undefined && token !== undefined && apiKey !== token) {
    throw new TypeError('apiKey and token are two names of one option; give one');
  }
  const headers = new Headers({ accept: 'application/json' });
  const credential = apiKey ?? token;
  if (credential !== undefined) headers.set('authorization', `Bearer ${credential}`);
  // Browsers either drop this header or ask the server's leave for it first.
  if (!('document' in globalThis)) headers.set('user-agent', `svc-sdk/${SDK_VERSION}`);
  for (const [name, value] of Object.entries(options.defaultHeaders ?? {})) headers.set(name, value);
  return headers;
}
