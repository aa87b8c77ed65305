/**
 * The internal port: the dispatch service over gRPC for gateways in other processes, built from the descriptors, with health and reflection. A call
 * comes by itself or in a stream of calls (calls.proto), and both come to the same handler. Every call and every stream carries
 * the shared secret; health is open, so that probes need none. A refusal travels as an ApiError, see proto/calls/refusal.ts.
 */
import { timingSafeEqual } from 'node:crypto';
import { fromBinary, toBinary } from '@bufbuild/protobuf';
import type { DescMethod, Message } from '@bufbuild/protobuf';
import { Metadata, Server, ServerCredentials } from '@grpc/grpc-js';
import type { ServerDuplexStream, ServerUnaryCall, ServiceError, sendUnaryData, status } from '@grpc/grpc-js';
import { answerCalls } from '@svc/proto/calls/answer.ts';
import { bufferOf } from '@svc/proto/calls/buffer-of.ts';
import { LazySignal } from '@svc/proto/calls/lazy-signal.ts';
import { ERROR_TRAILER, writeRefusal } from '@svc/proto/calls/refusal.ts';
import {
  CallsRequestSchema,
  CallsResponseSchema,
  CallStreamService,
} from '@svc/proto/gen/svc/dispatch/v1/calls_pb.ts';
import type { CallsRequest, CallsResponse } from '@svc/proto/gen/svc/dispatch/v1/calls_pb.ts';
import { apiError, toApiError } from '@svc/proto/http/errors.ts';
import type { ApiError } from '@svc/proto/http/errors.ts';
import type { Handler, Handlers } from '@svc/proto/http/implement.ts';
import { mapDatabaseError } from '../../platform/db/index.ts';
import type { DispatchCtx } from './dispatch.ts';
import { serveHealth } from './grpc-health.ts';
import { serveReflection } from './grpc-reflection.ts';

export interface DispatchGrpcOptions {
  /** 0: any free one. */
  readonly port: number;
  /** Default 127.0.0.1: gateways on this machine alone. */
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
  const served = new Map<string, Served>();
  for (const method of service.methods) {
    const handler = methods.get(`${service.typeName}/${method.name}`);
    if (handler === undefined) continue;
    served.set(method.name, { method, handler, onError: options.onError });
  }
  for (const each of served.values()) serveUnary(server, each, isAllowed);
  const closeStreams = serveStreams(server, served, isAllowed);
  const services = [service.typeName, CallStreamService.typeName];
  const health = serveHealth(server, services);
  serveReflection(server, {
    services: [...services, 'grpc.health.v1.Health'],
    files: [service.file, CallStreamService.file],
    isAllowed,
  });
  const port = await bind(server, `${options.host ?? '127.0.0.1'}:${options.port}`);
  return {
    port,
    stop: async (graceMs) => {
      health.stop();
      closeStreams();
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

/** An RPC of the service. */
interface Served {
  readonly method: DescMethod;
  readonly handler: Handler<DispatchCtx>;
  onError(error: unknown): void;
}

/** Rejects with ApiErrors alone. */
async function run({ handler, onError }: Served, request: () => Message, ctx: DispatchCtx): Promise<Message> {
  try {
    return (await handler(request(), ctx)) as Message;
  } catch (thrown) {
    const error = toApiError(mapDatabaseError(thrown));
    if (error.status >= 500) onError(error);
    throw error;
  }
}

const wrongToken = (): ApiError =>
  apiError('credentials_invalid', 'the internal token is missing or wrong; check INTERNAL_TOKEN');

function serveUnary(server: Server, served: Served, isAllowed: (metadata: Metadata) => boolean): void {
  const { method } = served;
  const handle = (call: ServerUnaryCall<Message, Message>, reply: sendUnaryData<Message>): void => {
    if (!isAllowed(call.metadata)) return reply(failure(wrongToken()));
    const ctx = new LazySignal();
    // Said at the end of every call as well.
    call.on('cancelled', () => ctx.abort());
    run(served, () => call.request, ctx).then(
      (message) => reply(null, message),
      (error: ApiError) => reply(failure(error)),
    );
  };
  server.register(
    `/${method.parent.typeName}/${method.name}`,
    handle,
    (message: Message) => bufferOf(toBinary(method.output, message)),
    (bytes: Buffer) => fromBinary(method.input, bytes),
    'unary',
  );
}

/** Returns how to ask those who have streams open to go elsewhere. */
function serveStreams(
  server: Server,
  served: ReadonlyMap<string, Served>,
  isAllowed: (metadata: Metadata) => boolean,
): () => void {
  const closers = new Set<() => void>();
  const handle = (stream: ServerDuplexStream<CallsRequest, CallsResponse>): void => {
    if (!isAllowed(stream.metadata)) return void stream.emit('error', failure(wrongToken()));
    const close = answerCalls(stream, (name, request, ctx) => {
      const one = served.get(name);
      if (one === undefined) return undefined;
      const { input, output } = one.method;
      return run(one, () => fromBinary(input, request), ctx).then((message) => toBinary(output, message));
    });
    closers.add(close);
    stream.on('close', () => closers.delete(close));
    stream.on('cancelled', () => closers.delete(close));
  };
  const { calls } = CallStreamService.method;
  server.register(
    `/${calls.parent.typeName}/${calls.name}`,
    handle,
    (message: CallsResponse) => bufferOf(toBinary(CallsResponseSchema, message)),
    (bytes: Buffer) => fromBinary(CallsRequestSchema, bytes),
    'bidi',
  );
  return () => {
    for (const close of closers) close();
  };
}

function failure(error: ApiError): Partial<ServiceError> {
  const metadata = new Metadata();
  metadata.set(ERROR_TRAILER, Buffer.from(writeRefusal(error)));
  // gRPC's codes are Connect's; what a peer without our client sees.
  return { code: error.connect as number as status, details: error.message, metadata };
}
