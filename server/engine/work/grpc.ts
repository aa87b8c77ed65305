/**
 * The internal port serves the dispatch service over gRPC for gateways in other processes, with health and
 * reflection. Every call carries the shared secret; health is open, so that probes need none. A refusal
 * travels as an ApiError, see proto/dispatch/refusal.ts.
 */
import { timingSafeEqual } from 'node:crypto';
import {
  create,
  fromBinary,
  toBinary,
  type DescFile,
  type DescMethodUnary,
  type Message,
  type MessageInitShape,
} from '@bufbuild/protobuf';
import {
  Metadata,
  Server,
  ServerCredentials,
  status,
  type sendUnaryData,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceDefinition,
  type ServiceError,
} from '@grpc/grpc-js';
import type { Dispatch } from '@svc/proto/dispatch/dispatch.ts';
import { ERROR_TRAILER, writeRefusal } from '@svc/proto/dispatch/refusal.ts';
import { DispatchService } from '@svc/proto/gen/svc/dispatch/v1/dispatch_pb.ts';
import { apiError, toApiError, type ApiError } from '@svc/proto/http/errors.ts';
import { HealthImplementation, service as healthService } from 'grpc-health-check';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { ReflectionService } from '@grpc/reflection';

export interface DispatchGrpcOptions {
  /** 0: any free one. */
  readonly port: number;
  /** Default 127.0.0.1: gateways on this machine alone. */
  readonly host?: string;
  readonly dispatch: Dispatch;
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

/** A gateway sends up to 1 MiB of output together. */
const RECEIVE_BYTES_MAX = 4 * 1024 * 1024;
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
  for (const method of Object.values(DispatchService.method))
    serve(server, method, { ...options, isAllowed });
  const health = serveHealth(server, [DispatchService.typeName]);
  serveReflection(server, {
    services: [DispatchService.typeName, 'grpc.health.v1.Health'],
    files: [DispatchService.file],
    isAllowed,
  });
  const port = await bind(server, `${options.host ?? '127.0.0.1'}:${options.port}`);
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

/** Returns a check of the token that compares in constant time. */
function tokenCheck(token: string): (metadata: Metadata) => boolean {
  const expected = Buffer.from(`Bearer ${token}`);
  return (metadata) => {
    const [given] = metadata.get('authorization');
    const bytes = Buffer.from(given ?? '');
    return bytes.length === expected.length && timingSafeEqual(bytes, expected);
  };
}

interface Serving {
  readonly dispatch: Dispatch;
  onError(error: unknown): void;
  isAllowed(metadata: Metadata): boolean;
}

const wrongToken = (): ApiError =>
  apiError('credentials_invalid', 'the internal token is missing or wrong; check INTERNAL_TOKEN');

function serve(server: Server, method: DescMethodUnary, { isAllowed, onError, dispatch }: Serving): void {
  const judged = (thrown: unknown): ApiError => {
    const error = toApiError(thrown);
    if (error.status >= 500) onError(error);
    return error;
  };
  const answer = answerOf(method, dispatch, judged);
  const handle = (call: ServerUnaryCall<Message, Message>, reply: sendUnaryData<Message>): void => {
    if (!isAllowed(call.metadata)) return reply(failure(wrongToken()));
    answer(call.request).then(
      (message) => reply(null, message),
      (thrown: unknown) => reply(failure(judged(thrown))),
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

/** The same bytes as a Buffer, which is what the library takes. */
const bufferOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

type Answer = (message: Message) => Promise<Message>;

/** Calls by name, once for each ask; which message belongs to which name is the descriptor's. */
function answerOf(
  { localName, output }: DescMethodUnary,
  dispatch: Dispatch,
  judged: (thrown: unknown) => ApiError,
): Answer {
  const one = (dispatch as unknown as Readonly<Record<string, Answer | undefined>>)[localName];
  if (one === undefined) throw new Error(`${localName} is in the contract and not in the dispatch service`);
  return async (request) => {
    const { asks } = request as Message & { readonly asks: readonly Message[] };
    const refusals: Array<{ readonly at: number; readonly error: string }> = [];
    const answers = await Promise.all(
      asks.map(async (ask, at) => {
        try {
          return await one(ask);
        } catch (thrown) {
          refusals.push({ at, error: writeRefusal(judged(thrown)) });
          return {};
        }
      }),
    );
    return create(output, { answers, refusals } as MessageInitShape<typeof output>);
  };
}

function failure(error: ApiError): Partial<ServiceError> {
  const metadata = new Metadata();
  metadata.set(ERROR_TRAILER, Buffer.from(writeRefusal(error)));
  // gRPC's codes are Connect's; what a peer without our client sees.
  return { code: error.connect as number as status, details: error.message, metadata };
}

export interface Health {
  /**
   * Says NOT_SERVING from now on, and ends the streams of those who watch: they would keep the port from
   * closing.
   */
  stop(): void;
}

/** `services` besides '', which stands for the whole server. */
export function serveHealth(server: Server, services: readonly string[]): Health {
  const names = ['', ...services];
  const health = new HealthImplementation(Object.fromEntries(names.map((name) => [name, 'SERVING'])));
  const watchers = new Set<ServerWritableStream<unknown, unknown>>();
  health.addToServer({
    addService: (definition, { watch, ...rest }) =>
      server.addService(definition as ServiceDefinition, {
        ...rest,
        watch: (call: ServerWritableStream<unknown, unknown>) => {
          watchers.add(call);
          call.on('cancelled', () => watchers.delete(call));
          watch?.(call as never, () => undefined);
        },
      }),
  });
  return {
    stop: () => {
      for (const name of names) health.setStatus(name, 'NOT_SERVING');
      for (const watcher of watchers) watcher.end();
    },
  };
}

// The port serves grpc.reflection v1 and v1alpha from our own descriptors, for grpcurl and its like. It tells
// what is in the protos and asks for the shared secret all the same: nobody else has business on this port.

export interface ReflectionOptions {
  /** Names that are listed. */
  readonly services: readonly string[];
  /** Collects what can be looked up, and all that it imports. */
  readonly files: readonly DescFile[];
  readonly isAllowed: (metadata: Metadata) => boolean;
}

function withImports(files: readonly DescFile[], seen = new Set<DescFile>()): ReadonlySet<DescFile> {
  for (const file of files) {
    if (seen.has(file)) continue;
    seen.add(file);
    withImports(file.dependencies, seen);
  }
  return seen;
}

export function serveReflection(server: Server, { services, files, isAllowed }: ReflectionOptions): void {
  const own = Array.from(withImports(files), ({ proto }) =>
    Buffer.from(toBinary(FileDescriptorProtoSchema, proto)),
  );
  const definitions = { own: { fileDescriptorProtos: own }, health: healthService['Check']?.requestType };
  type Definitions = ConstructorParameters<typeof ReflectionService>[0];
  new ReflectionService(definitions as unknown as Definitions, { services: [...services] }).addToServer({
    addService: (definition, { ServerReflectionInfo: reflect }) =>
      server.addService(definition, {
        ServerReflectionInfo: (call: ServerDuplexStream<unknown, unknown>) => {
          if (isAllowed(call.metadata)) return (reflect as (call: unknown) => void)(call);
          call.emit('error', {
            code: status.UNAUTHENTICATED,
            details: 'the internal token is missing or wrong',
          });
        },
      }),
  });
}
