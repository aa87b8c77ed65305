/**
 * The internal port: the dispatch service over gRPC for gateways in other processes, built from the descriptors, with health and reflection. Every
 * call of the service carries the shared secret; health is open, so that probes need none. A refusal travels as an ApiError in the
 * trailer `svc-error-bin`, which the gateway's client reads.
 */
import { timingSafeEqual } from 'node:crypto';
import { fromBinary, toBinary } from '@bufbuild/protobuf';
import type { DescMethod, Message } from '@bufbuild/protobuf';
import { Metadata, Server, ServerCredentials } from '@grpc/grpc-js';
import type { ServerUnaryCall, ServiceError, sendUnaryData, status } from '@grpc/grpc-js';
import { apiError, toApiError } from '@svc/proto/http/errors.ts';
import type { ApiError } from '@svc/proto/http/errors.ts';
import type { Handler, Handlers } from '@svc/proto/http/implement.ts';
import { mapDatabaseError } from '../platform/db/index.ts';
import type { DispatchCtx } from './dispatch.ts';
import { serveHealth } from './grpc-health.ts';
import { serveReflection } from './grpc-reflection.ts';

export const ERROR_TRAILER = 'svc-error-bin';

export interface DispatchGrpcOptions {
  /** 0: any free one. */
  readonly port: number;
  /** Default 0.0.0.0: gateways run on other machines. */
  readonly host?: string;
  readonly handlers: Handlers<DispatchCtx>;
  /** The shared secret (INTERNAL_TOKEN). */
  readonly token: string;
  /** An error that is not the caller's. */
  onError(error: unknown): void;
}

export interface DispatchGrpc {
  readonly port: number;
  /** Refuses new calls, lets running ones end within `graceMs`, then cuts. */
  stop(graceMs: number): Promise<void>;
}

const RECEIVE_BYTES_MAX = 1_048_576;
const TOKEN_BYTES_MIN = 16;

const OPTIONS = {
  'grpc.max_receive_message_length': RECEIVE_BYTES_MAX,
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 5_000,
  'grpc.max_concurrent_streams': 10_000,
  // Its accounts of every call and connection are for a debugger that nobody here attaches.
  'grpc.enable_channelz': 0,
} as const;

export async function startDispatchGrpc(options: DispatchGrpcOptions): Promise<DispatchGrpc> {
  if (Buffer.byteLength(options.token) < TOKEN_BYTES_MIN) {
    throw new RangeError(
      `INTERNAL_TOKEN has ${Buffer.byteLength(options.token)} bytes, at least ${TOKEN_BYTES_MIN} are needed`,
    );
  }
  const server = new Server(OPTIONS);
  const isAllowed = tokenCheck(options.token);
  const { service, methods } = options.handlers;
  for (const method of service.methods) {
    const handler = methods.get(`${service.typeName}/${method.name}`);
    if (handler !== undefined) serveUnary(server, method, handler, isAllowed, options.onError);
  }
  const health = serveHealth(server, [service.typeName]);
  serveReflection(server, [service.file], [service.typeName, 'grpc.health.v1.Health'], isAllowed);
  const port = await bind(server, `${options.host ?? '0.0.0.0'}:${options.port}`);
  return {
    port,
    stop: async (graceMs) => {
      health.stop();
      await shutDown(server, graceMs);
    },
  };
}

async function bind(server: Server, address: string): Promise<number> {
  return await new Promise((resolve, reject) => {
    server.bindAsync(address, ServerCredentials.createInsecure(), (error, port) => {
      if (error === null) resolve(port);
      else
        reject(
          new Error(`the internal port ${address} cannot be opened: ${error.message}`, { cause: error }),
        );
    });
  });
}

async function shutDown(server: Server, graceMs: number): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(() => {
      server.forceShutdown();
      resolve();
    }, graceMs);
    server.tryShutdown(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** Compares in constant time. */
function tokenCheck(token: string): (metadata: Metadata) => boolean {
  const expected = Buffer.from(`Bearer ${token}`);
  return (metadata) => {
    const [given] = metadata.get('authorization');
    const bytes = Buffer.from(given ?? '');
    return bytes.length === expected.length && timingSafeEqual(bytes, expected);
  };
}

function serveUnary(
  server: Server,
  method: DescMethod,
  handler: Handler<DispatchCtx>,
  isAllowed: (metadata: Metadata) => boolean,
  onError: (error: unknown) => void,
): void {
  const answer = async (call: ServerUnaryCall<Message, Message>): Promise<Message> => {
    if (!isAllowed(call.metadata))
      throw apiError('credentials_invalid', 'the internal token is missing or wrong; check INTERNAL_TOKEN');
    return (await handler(call.request, callContext(call))) as Message;
  };
  const handle = (call: ServerUnaryCall<Message, Message>, reply: sendUnaryData<Message>): void => {
    answer(call).then(
      (message) => reply(null, message),
      (thrown: unknown) => {
        const error = toApiError(mapDatabaseError(thrown));
        if (error.status >= 500) onError(error);
        reply(failure(error));
      },
    );
  };
  server.register(
    `/${method.parent.typeName}/${method.name}`,
    handle,
    (message: Message) => Buffer.from(toBinary(method.output, message)),
    (bytes: Buffer) => fromBinary(method.input, bytes),
    'unary',
  );
}

/** The signal is made on first use: few handlers wait for anything, and the library says `cancelled` at the end of every call. */
function callContext(call: ServerUnaryCall<Message, Message>): DispatchCtx {
  let aborted: AbortController | undefined;
  const abort = (): void => aborted?.abort(apiError('client_closed', 'the gateway gave the call up'));
  return {
    get signal() {
      if (aborted === undefined) {
        aborted = new AbortController();
        if (call.cancelled) abort();
        else call.on('cancelled', abort);
      }
      return aborted.signal;
    },
  };
}

function failure({
  code,
  message,
  retryable,
  details,
  retryAfterMs,
  connect,
}: ApiError): Partial<ServiceError> {
  const metadata = new Metadata();
  metadata.set(
    ERROR_TRAILER,
    Buffer.from(JSON.stringify({ code, message, retryable, details, retryAfterMs })),
  );
  // gRPC's codes are Connect's; what a peer without our client sees.
  return { code: connect as number as status, details: message, metadata };
}
