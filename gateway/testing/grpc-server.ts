/** The dispatch service on a real gRPC port, in front of a fake: what a server does with its trailers. */
import {
  Metadata,
  Server,
  ServerCredentials,
  status,
  type sendUnaryData,
  type ServerDuplexStream,
  type ServerUnaryCall,
} from '@grpc/grpc-js';
import { fromBinary, toBinary, type Message } from '@bufbuild/protobuf';
import { DispatchService } from '@svc/proto/gen/svc/dispatch/v1/dispatch_pb.ts';
import {
  CallsRequestSchema,
  CallsResponseSchema,
  type CallsRequest,
  type CallsResponse,
} from '@svc/proto/gen/svc/dispatch/v1/calls_pb.ts';
import { answerCalls } from '@svc/proto/calls/answer.ts';
import { ERROR_TRAILER, writeRefusal } from '@svc/proto/calls/refusal.ts';
import { toApiError } from '@svc/proto/http/errors.ts';
import type { Client } from '@svc/proto/http/implement.ts';
import { CALLS_PATH } from '../call-stream.ts';

export interface GrpcServer {
  readonly url: string;
  readonly port: number;
  /** Streams of calls that were opened so far. */
  streams(): number;
  /** Asks callers to go elsewhere, as a server that stops does; what has begun is answered. */
  close(): Promise<void>;
  /** Ends every connection at once, as a killed process does. */
  kill(): Promise<void>;
}

type Methods = Record<string, (request: Message) => Promise<Message>>;

export async function startGrpcServer(
  client: Client<typeof DispatchService>,
  token: string,
  port = 0,
): Promise<GrpcServer> {
  const server = new Server();
  const methods = client as unknown as Methods;
  for (const method of DispatchService.methods) {
    const answer = async (call: ServerUnaryCall<Message, Message>): Promise<Message> => {
      if (call.metadata.get('authorization')[0] === `Bearer ${token}`)
        return methods[method.localName]!(call.request);
      throw Object.assign(new Error('wrong token'), { code: status.UNAUTHENTICATED });
    };
    const handle = (call: ServerUnaryCall<Message, Message>, reply: sendUnaryData<Message>): void => {
      answer(call).then(
        (message) => reply(null, message),
        (error: Error) => reply(failure(error)),
      );
    };
    const path = `/${DispatchService.typeName}/${method.name}`;
    server.register(
      path,
      handle,
      (value: Message) => Buffer.from(toBinary(method.output, value)),
      (bytes: Buffer) => fromBinary(method.input, bytes),
      'unary',
    );
  }
  const closers: Array<() => void> = [];
  const openStream = (stream: ServerDuplexStream<CallsRequest, CallsResponse>): void => {
    if (stream.metadata.get('authorization')[0] !== `Bearer ${token}`)
      return void stream.emit('error', { code: status.UNAUTHENTICATED, details: 'wrong token' });
    const close = answerCalls(stream, (name, request) => {
      const method = DispatchService.methods.find((each) => each.name === name);
      if (method === undefined) return undefined;
      return (async () => methods[method.localName]!(fromBinary(method.input, request)))().then(
        (answer) => toBinary(method.output, answer),
        (error: unknown) => Promise.reject(toApiError(error)),
      );
    });
    closers.push(close);
  };
  server.register(
    CALLS_PATH,
    openStream,
    (value: CallsResponse) => Buffer.from(toBinary(CallsResponseSchema, value)),
    (bytes: Buffer) => fromBinary(CallsRequestSchema, bytes),
    'bidi',
  );
  const bound = await new Promise<number>((resolve, reject) => {
    server.bindAsync(`127.0.0.1:${port}`, ServerCredentials.createInsecure(), (error, at) =>
      error === null ? resolve(at) : reject(error),
    );
  });
  return {
    url: `grpc://127.0.0.1:${bound}`,
    port: bound,
    streams: () => closers.length,
    close: async () => {
      for (const close of closers) close();
      await new Promise<void>((resolve) => server.tryShutdown(() => resolve()));
    },
    kill: async () => server.forceShutdown(),
  };
}

function failure(thrown: Error) {
  if ('code' in thrown && typeof thrown.code === 'number')
    return { code: thrown.code, details: thrown.message };
  const error = toApiError(thrown);
  const metadata = new Metadata();
  metadata.set(ERROR_TRAILER, Buffer.from(writeRefusal(error)));
  return { code: error.connect as number, details: error.message, metadata };
}
