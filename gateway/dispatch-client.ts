/**
 * This file calls the dispatch service over gRPC, at one or several servers in turn. Asks travel together: a
 * server has at most two requests of a kind under way, and what comes meanwhile goes into the next one.
 *
 * A server that failed by its transport is passed over for a while; when all have failed the next one in turn
 * is tried anyway. An ask that may be repeated is repeated once, at another server if there is one. What must
 * hold: an ask that uses a nonce is never repeated, because the second one would find its own nonce used, and
 * its runner signs the request anew instead; the error of a server reaches the caller as it was, an error of
 * the transport as `unavailable`.
 *
 */
import {
  create,
  fromBinary,
  toBinary,
  type DescMessage,
  type DescMethodUnary,
  type Message,
  type MessageInitShape,
} from '@bufbuild/protobuf';
import {
  Client as Channel,
  connectivityState,
  credentials,
  Metadata,
  status,
  type ServiceError,
} from '@grpc/grpc-js';
import { CALLS, type CallName, type Dispatch } from '@svc/proto/dispatch/dispatch.ts';
import { readRefusal } from '@svc/proto/dispatch/refusal.ts';
import { DispatchService, type Refusal } from '@svc/proto/gen/svc/dispatch/v1/dispatch_pb.ts';
import { apiError } from '@svc/proto/http/errors.ts';
import { inBatches } from '@svc/proto/process/batches.ts';
import type { Clock } from '@svc/proto/process/clock.ts';
import type { Logger } from 'pino';
import { errorFromTrailers, noServer } from './grpc-error.ts';

/** A server that failed is passed over for so long. */
const PASS_OVER_MS = 1_000;

interface Limits {
  /** The time that an ask has until its answer. */
  readonly deadlineMs: number;
  /** The time of one try; where it is shorter, a second one still has its time. */
  readonly tryMs: number;
  readonly itemsMax: number;
}

/**
 * Asks that carry data or wait for a lock take longer than look-ups. An answer to a poll may be an offer of a
 * megabyte.
 */
const LIMITS: Readonly<Record<CallName, Limits>> = {
  // Held by the server for a second.
  watchFeatures: { deadlineMs: 4_000, tryMs: 2_000, itemsMax: 1 },
  // Repeatable as well: one whose token was used by its first try is answered as that was.
  enroll: { deadlineMs: 10_000, tryMs: 5_000, itemsMax: 16 },
  resolveKey: { deadlineMs: 5_000, tryMs: 3_000, itemsMax: 100 },
  poll: { deadlineMs: 5_000, tryMs: 3_000, itemsMax: 64 },
  heartbeat: { deadlineMs: 10_000, tryMs: 10_000, itemsMax: 64 },
  appendLogs: { deadlineMs: 20_000, tryMs: 20_000, itemsMax: 16 },
  report: { deadlineMs: 20_000, tryMs: 20_000, itemsMax: 32 },
  syncHost: { deadlineMs: 10_000, tryMs: 10_000, itemsMax: 16 },
  hostLogs: { deadlineMs: 10_000, tryMs: 10_000, itemsMax: 16 },
};
/** Requests of a kind under way at one server. */
const REQUESTS_MAX = 2;
/** Bytes of output, or of documents, in a request; the server takes 4 MiB. */
const BYTES_MAX = 1_048_576;
const WAITING_MAX = 20_000;

const CHANNEL_OPTIONS = {
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 5_000,
  'grpc.keepalive_permit_without_calls': 1,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.min_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 2_000,
  'grpc.max_receive_message_length': 64 * 1024 * 1024,
  // Its accounts of every call and connection are for a debugger that nobody here attaches.
  'grpc.enable_channelz': 0,
  // Repeating is decided here, where it is known what may be repeated.
  'grpc.enable_retries': 0,
  // A name with several addresses (servers behind one DNS name) is used in full.
  'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
} as const;

export interface DispatchClientOptions {
  /**
   * `grpc://host:port`, or `grpcs://` for TLS by the system's certificates; `http` and `https` mean the same.
   */
  readonly urls: readonly string[];
  readonly token: string;
  readonly clock: Clock;
  readonly log: Logger;
}

interface Endpoint {
  readonly address: string;
  readonly channel: Channel;
  /** Requests under way, by method. */
  readonly underWay: Map<string, number>;
  passOverUntilMs: number;
}

export function connectDispatch(options: DispatchClientOptions) {
  const servers = new Servers(options.urls.map(openEndpoint), options);
  return {
    client: Object.fromEntries(
      (Object.keys(LIMITS) as CallName[]).map((name) => [name, caller(servers, name)]),
    ) as unknown as Dispatch,
    /** Tells whether some server is connected or has not been tried yet. */
    ready: () => servers.ready(),
    close: () => servers.close(),
  };
}

export type DispatchClient = ReturnType<typeof connectDispatch>;

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
    underWay: new Map(),
    passOverUntilMs: Number.NEGATIVE_INFINITY,
  };
}

/** An ask under way. */
interface OpenAsk {
  readonly ask: Message;
  isRepeatable: boolean;
  /** Its caller was told that no server answers. */
  isOver: boolean;
}

type WithNonce = Message & { readonly caller?: { readonly nonce?: unknown } };
type WithBytes = Message & {
  readonly logs?: { readonly chunks: ReadonlyArray<{ readonly data: Uint8Array }> };
  readonly report?: { readonly build?: { readonly sbom?: Uint8Array } };
};

function bytesOf({ logs, report }: WithBytes): number {
  const output = logs?.chunks.reduce((sum, { data }) => sum + data.length, 0) ?? 0;
  return output + (report?.build?.sbom?.length ?? 0);
}

/** The name says which messages these are. */
function caller<Name extends CallName>(servers: Servers, name: Name): Dispatch[Name] {
  const method = DispatchService.method[name];
  const { deadlineMs, tryMs, itemsMax } = LIMITS[name];
  const send = inBatches<OpenAsk, Message>({
    parallel: REQUESTS_MAX * servers.count,
    itemsMax,
    waitingMax: WAITING_MAX,
    overfull: noServer,
    sizeOf: ({ ask }) => bytesOf(ask),
    sizeMax: BYTES_MAX,
    run: async (all) => {
      // Nobody waits for the others any more.
      const asked = all.filter(({ isOver }) => !isOver);
      const asks = asked.map(({ ask }) => ask);
      const answers = asks.length === 0 ? [] : await servers.ask(method, asks, tryMs);
      const answerOf = new Map(asked.map((each, at) => [each, answers[at]]));
      return all.map((each) => answerOf.get(each) ?? noServer());
    },
  });
  const trying = async (asked: OpenAsk): Promise<Message> => {
    try {
      return await send(asked);
    } catch (error) {
      if (!(error instanceof TransportFailed)) throw error;
      if (!asked.isRepeatable || asked.isOver || servers.closed) throw noServer();
      asked.isRepeatable = false;
      return await trying(asked);
    }
  };
  const askOne = async (init: MessageInitShape<DescMessage>): Promise<Message> => {
    const ask = create<DescMessage>(CALLS[name].ask, init);
    const asked = { ask, isRepeatable: (ask as WithNonce).caller?.nonce === undefined, isOver: false };
    return await new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        asked.isOver = true;
        reject(noServer());
      }, deadlineMs);
      trying(asked)
        .then(resolve, reject)
        .finally(() => clearTimeout(timer));
    });
  };
  return askOne as Dispatch[Name];
}

/** Nobody knows what became of it. */
class TransportFailed extends Error {}

class Servers {
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

  get count(): number {
    return this.#endpoints.length;
  }

  get closed(): boolean {
    return this.#closed;
  }

  ready(): boolean {
    return this.#endpoints.some(
      ({ channel }) =>
        channel.getChannel().getConnectivityState(true) !== connectivityState.TRANSIENT_FAILURE,
    );
  }

  close(): void {
    this.#closed = true;
    for (const { channel } of this.#endpoints) channel.close();
  }

  /** Resolves with what came of each ask, in their order. Rejects with TransportFailed when nobody knows. */
  async ask(
    method: DescMethodUnary,
    asks: readonly Message[],
    timeoutMs: number,
  ): Promise<Array<Message | Error>> {
    if (this.#closed)
      throw apiError('unavailable', 'the gateway is stopping; try again', { retryAfterMs: 1_000 });
    const endpoint = this.#pick(method.name);
    const { underWay } = endpoint;
    underWay.set(method.name, (underWay.get(method.name) ?? 0) + 1);
    try {
      const request = create(method.input, { asks } as MessageInitShape<typeof method.input>);
      const bytes = bufferOf(toBinary(method.input, request));
      const response = await this.#request(endpoint, { method, bytes, deadline: Date.now() + timeoutMs });
      const { answers, refusals } = fromBinary(method.output, response) as Message & {
        readonly answers: readonly Message[];
        readonly refusals: readonly Refusal[];
      };
      const outcomes: Array<Message | Error> = [...answers];
      for (const { at, error } of refusals) outcomes[at] = readRefusal(error);
      return outcomes;
    } finally {
      underWay.set(method.name, (underWay.get(method.name) ?? 1) - 1);
    }
  }

  /**
   * The best servers are picked in turn: those with room for a request of this kind come first, connected
   * ones before those not yet connected, and those that failed lately come after both.
   */
  #pick(method: string): Endpoint {
    const nowMs = this.#clock.monotonicMs();
    this.#turn = (this.#turn + 1) % this.#endpoints.length;
    const inTurn = [...this.#endpoints.slice(this.#turn), ...this.#endpoints.slice(0, this.#turn)];
    const rank = ({ channel, underWay, passOverUntilMs }: Endpoint): number => {
      if ((underWay.get(method) ?? 0) >= REQUESTS_MAX) return 3;
      if (passOverUntilMs > nowMs) return 2;
      // With `true`, looking at a connection that is down tries it again.
      return channel.getChannel().getConnectivityState(true) === connectivityState.READY ? 0 : 1;
    };
    return inTurn.reduce((best, endpoint) => (rank(endpoint) < rank(best) ? endpoint : best));
  }

  async #request(
    endpoint: Endpoint,
    {
      method,
      bytes,
      deadline,
    }: { readonly method: DescMethodUnary; readonly bytes: Buffer; readonly deadline: number },
  ): Promise<Buffer> {
    return await new Promise((resolve, reject) => {
      const onAnswer = (error: ServiceError | null, response: Buffer = EMPTY): void => {
        if (error === null) return resolve(response);
        const refused = errorFromTrailers(error.metadata);
        if (refused !== undefined) return reject(this.#judge(refused, endpoint));
        this.#passOver(endpoint, error);
        reject(new TransportFailed(error.details));
      };
      const path = `/${method.parent.typeName}/${method.name}`;
      endpoint.channel.makeUnaryRequest(path, asIs, asIs, bytes, this.#metadata, { deadline }, onAnswer);
    });
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
    // An outage gets one line for each second, not one for each call.
    if (endpoint.passOverUntilMs <= nowMs) {
      const { address } = endpoint;
      this.#log.warn(
        { server: address, status: status[error.code], details: error.details },
        error.code === status.UNIMPLEMENTED
          ? 'the server is older than this gateway and lacks what it was asked; upgrade servers before gateways'
          : 'server does not answer',
      );
    }
    endpoint.passOverUntilMs = nowMs + PASS_OVER_MS;
  }
}

const EMPTY = Buffer.alloc(0);
const asIs = (bytes: Buffer): Buffer => bytes;
/** The same bytes as a Buffer, which is what the library takes. */
const bufferOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);
