/**
 * The dispatch service over gRPC, at one or several servers in turn.
 *
 * Calls share a stream to each server, but for output, which would hold the others up and goes by calls of its own.
 *
 * A server that failed by its transport is passed over for a while; when all have failed the next one in turn is tried anyway. A
 * call that may be repeated is repeated once, at another server if there is one. What must hold: a call that uses a nonce is never repeated, because
 * the second one would find its own nonce used, and its runner signs the request anew instead; the error of a server reaches the caller as it was, an error of
 * the transport as `unavailable`.
 */
import { fromBinary, type DescMethodUnary, type Message } from '@bufbuild/protobuf';
import {
  Client as Channel,
  connectivityState,
  credentials,
  Metadata,
  status,
  type ServiceError,
} from '@grpc/grpc-js';
import { DispatchService } from '@svc/proto/gen/svc/dispatch/v1/dispatch_pb.ts';
import { apiError } from '@svc/proto/http/errors.ts';
import type { Client, ClientCallOptions } from '@svc/proto/http/implement.ts';
import type { Logger } from 'pino';
import { CALLS_PATH, CallStream, type Outcome } from './call-stream.ts';
import type { Clock } from '@svc/proto/process/clock.ts';
import { encodeRequest } from './encode-request.ts';
import { errorFromTrailers, noServer } from './grpc-error.ts';

/** How long a server that failed is passed over. */
const PASS_OVER_MS = 1_000;
/** Between two lines about a server that is too old. */
const TOO_OLD_EVERY_MS = 60_000;
const DEADLINE_MS = 5_000;
/** Calls that carry data or wait for a lock take longer than look-ups. */
const DEADLINES_MS: Readonly<Record<string, number>> = {
  enroll: 10_000,
  heartbeat: 10_000,
  appendLogs: 20_000,
  report: 20_000,
};
/** Calls that go by themselves. */
const ALONE: ReadonlySet<string> = new Set(['appendLogs']);
/** The first try of a repeatable call may use up this share of the deadline. */
const FIRST_TRY_SHARE = 0.6;

const CHANNEL_OPTIONS = {
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 5_000,
  'grpc.keepalive_permit_without_calls': 1,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.min_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 2_000,
  'grpc.max_receive_message_length': 4 * 1024 * 1024,
  // Its accounts of every call and connection are for a debugger that nobody here attaches.
  'grpc.enable_channelz': 0,
  // Repeating is decided here, where it is known what may be repeated.
  'grpc.enable_retries': 0,
  // A name with several addresses (servers behind one DNS name) is used in full.
  'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
} as const;

export interface DispatchClientOptions {
  /** `grpc://host:port`, or `grpcs://` for TLS by the system's certificates; `http` and `https` mean the same. */
  readonly urls: readonly string[];
  readonly token: string;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface DispatchClient {
  readonly client: Client<typeof DispatchService>;
  /** Whether some server is connected or has not been tried yet. */
  ready(): boolean;
  close(): void;
}

interface Endpoint {
  readonly address: string;
  readonly channel: Channel;
  stream: CallStream | undefined;
  passOverUntilMs: number;
  toldTooOldMs: number;
}

export function connectDispatch(options: DispatchClientOptions): DispatchClient {
  const endpoints = options.urls.map(openEndpoint);
  const calls = new Calls(endpoints, options);
  const methods: Record<string, (request: Message, callOptions?: ClientCallOptions) => Promise<Message>> = {};
  for (const method of DispatchService.methods.filter(
    (each): each is DescMethodUnary => each.methodKind === 'unary',
  )) {
    methods[method.localName] = (request, callOptions) => calls.call(method, request, callOptions);
  }
  return {
    // Built from the descriptor, so its methods are exactly the service's.
    client: methods as unknown as Client<typeof DispatchService>,
    ready: () => calls.ready(),
    close: () => calls.close(),
  };
}

function carriesNonce(request: Message & { readonly caller?: { readonly nonce?: unknown } }): boolean {
  return request.caller?.nonce !== undefined;
}

function openEndpoint(url: string): Endpoint {
  const match = /^(grpcs?|https?):\/\/([^/?#]+:\d+)\/?$/.exec(url);
  const [, scheme, address] = match ?? [];
  if (address === undefined)
    throw new RangeError(`dispatch URL ${JSON.stringify(url)} is not grpc://host:port or grpcs://host:port`);
  const security =
    scheme === 'grpcs' || scheme === 'https' ? credentials.createSsl() : credentials.createInsecure();
  return {
    address,
    channel: new Channel(address, security, CHANNEL_OPTIONS),
    stream: undefined,
    passOverUntilMs: Number.NEGATIVE_INFINITY,
    toldTooOldMs: Number.NEGATIVE_INFINITY,
  };
}

/** One call as it is sent. */
interface Asked {
  readonly method: DescMethodUnary;
  readonly bytes: Buffer;
}

class Calls {
  readonly #endpoints: readonly Endpoint[];
  readonly #metadata = new Metadata();
  readonly #clock: Clock;
  readonly #log: Logger;
  #turn = 0;
  #closed = false;

  constructor(endpoints: readonly Endpoint[], { token, clock, log }: DispatchClientOptions) {
    if (endpoints.length === 0) throw new RangeError('no dispatch URL given, expected at least one');
    this.#endpoints = endpoints;
    this.#metadata.set('authorization', `Bearer ${token}`);
    this.#clock = clock;
    this.#log = log;
  }

  ready(): boolean {
    return this.#endpoints.some(
      ({ channel }) =>
        channel.getChannel().getConnectivityState(true) !== connectivityState.TRANSIENT_FAILURE,
    );
  }

  close(): void {
    this.#closed = true;
    for (const { channel, stream } of this.#endpoints) {
      stream?.leave();
      channel.close();
    }
  }

  async call(method: DescMethodUnary, request: Message, options: ClientCallOptions = {}): Promise<Message> {
    const untilMs =
      this.#clock.monotonicMs() + (options.timeoutMs ?? DEADLINES_MS[method.localName] ?? DEADLINE_MS);
    const bytes = encodeRequest(method, request);
    const repeatable = method.localName !== 'useNonce' && !carriesNonce(request);
    for (let tries = 1, last: Endpoint | undefined; ; tries += 1) {
      if (this.#closed)
        throw apiError('unavailable', 'the gateway is stopping; try again', { retryAfterMs: 1_000 });
      const endpoint = this.#pick(last);
      const leftMs = untilMs - this.#clock.monotonicMs();
      const isLast = !repeatable || tries === 2;
      const timeoutMs = isLast ? leftMs : leftMs * FIRST_TRY_SHARE;
      const outcome = await this.#try(endpoint, { method, bytes }, { timeoutMs, signal: options.signal });
      if ('response' in outcome) return fromBinary(method.output, outcome.response);
      if ('refused' in outcome) throw this.#judge(outcome.refused, endpoint);
      if (options.signal?.aborted) throw apiError('client_closed', 'the call was given up');
      this.#passOver(endpoint, outcome.failed);
      if (isLast) throw noServer();
      last = endpoint;
    }
  }

  /** In turn among the best: connected before not yet connected, those that failed lately after both, the one that failed just now last. */
  #pick(failed: Endpoint | undefined): Endpoint {
    const nowMs = this.#clock.monotonicMs();
    this.#turn = (this.#turn + 1) % this.#endpoints.length;
    const inTurn = [...this.#endpoints.slice(this.#turn), ...this.#endpoints.slice(0, this.#turn)];
    const rank = (endpoint: Endpoint): number => {
      if (endpoint === failed) return 3;
      if (endpoint.passOverUntilMs > nowMs) return 2;
      // `true`: a connection that is down is tried again by looking at it.
      return endpoint.channel.getChannel().getConnectivityState(true) === connectivityState.READY ? 0 : 1;
    };
    return inTurn.reduce((best, endpoint) => (rank(endpoint) < rank(best) ? endpoint : best));
  }

  #try(
    endpoint: Endpoint,
    asked: Asked,
    { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal | undefined },
  ): Promise<Outcome> {
    return new Promise((resolve) => {
      const end = (outcome: Outcome): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        resolve(outcome);
      };
      const giveUp = (code: status, details: string): void => {
        cancel();
        end({ failed: { code, details } });
      };
      const onAbort = (): void => giveUp(status.CANCELLED, 'the caller gave the call up');
      const timer = setTimeout(
        () => giveUp(status.DEADLINE_EXCEEDED, `no answer within ${Math.round(timeoutMs)} ms`),
        timeoutMs,
      );
      signal?.addEventListener('abort', onAbort, { once: true });
      const cancel = ALONE.has(asked.method.localName)
        ? this.#alone(endpoint, asked, end)
        : this.#streamTo(endpoint).begin(asked.method.name, asked.bytes, end);
      if (signal?.aborted) onAbort();
    });
  }

  #alone({ channel }: Endpoint, { method, bytes }: Asked, end: (outcome: Outcome) => void): () => void {
    const call = channel.makeUnaryRequest(
      `/${method.parent.typeName}/${method.name}`,
      asIs,
      asIs,
      bytes,
      this.#metadata,
      (error: ServiceError | null, response: Buffer = EMPTY) => {
        const refused = error === null ? undefined : errorFromTrailers(error.metadata);
        end(refused !== undefined ? { refused } : error !== null ? { failed: error } : { response });
      },
    );
    return () => call.cancel();
  }

  #streamTo(endpoint: Endpoint): CallStream {
    if (endpoint.stream?.usable === true) return endpoint.stream;
    endpoint.stream = new CallStream(
      endpoint.channel.makeBidiStreamRequest(CALLS_PATH, asIs, asIs, this.#metadata),
    );
    return endpoint.stream;
  }

  /** A refusal of this gateway itself is the operator's business; it says nothing about the runner. */
  #judge(error: Error & { readonly code: string }, endpoint: Endpoint): Error {
    if (!error.code.startsWith('credentials_')) return error;
    this.#log.error(
      { server: endpoint.address, code: error.code },
      'the server refuses this gateway; check INTERNAL_TOKEN',
    );
    return noServer();
  }

  #passOver(endpoint: Endpoint, error: Pick<ServiceError, 'code' | 'details'>): void {
    const nowMs = this.#clock.monotonicMs();
    if (error.code === status.UNIMPLEMENTED) {
      // It lacks a method, and may be well otherwise.
      if (nowMs - endpoint.toldTooOldMs < TOO_OLD_EVERY_MS) return;
      endpoint.toldTooOldMs = nowMs;
      this.#log.error(
        { server: endpoint.address, details: error.details },
        'the server is older than this gateway and lacks what it was asked; upgrade servers before gateways',
      );
      return;
    }
    // One line for each second of an outage, not one for each call.
    if (endpoint.passOverUntilMs <= nowMs) {
      const { address } = endpoint;
      this.#log.warn(
        { server: address, status: status[error.code], details: error.details },
        'server does not answer',
      );
    }
    endpoint.passOverUntilMs = nowMs + PASS_OVER_MS;
  }
}

const EMPTY = Buffer.alloc(0);
const asIs = (bytes: Buffer): Buffer => bytes;
