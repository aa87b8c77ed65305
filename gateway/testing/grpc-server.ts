/**
 * This file puts the dispatch service on a real gRPC port in front of a fake, with trailers as a server sends
 * them.
 */
import { create, fromBinary, toBinary, type Message, type MessageInitShape } from '@bufbuild/protobuf';
import { Metadata, Server, ServerCredentials, type sendUnaryData, type ServerUnaryCall } from '@grpc/grpc-js';
import type { Dispatch } from '@svc/proto/dispatch/dispatch.ts';
import { ERROR_TRAILER, writeRefusal } from '@svc/proto/dispatch/refusal.ts';
import { DispatchService } from '@svc/proto/gen/svc/dispatch/v1/dispatch_pb.ts';
import { apiError, toApiError } from '@svc/proto/http/errors.ts';

export interface GrpcServer {
  readonly url: string;
  readonly port: number;
  /** Requests that came so far, and the asks in them. */
  readonly requests: number[];
  /** Takes no further calls; what has begun is answered. */
  close(): Promise<void>;
  /** Ends every connection at once, as a killed process does. */
  kill(): Promise<void>;
}

type Methods = Record<string, (request: Message) => Promise<Message>>;

export async function startGrpcServer(client: Dispatch, token: string, port = 0): Promise<GrpcServer> {
  const server = new Server();
  const methods = client as unknown as Methods;
  const requests: number[] = [];
  for (const method of DispatchService.methods) {
    const one = methods[method.localName]!;
    const many = async (request: Message): Promise<Message> => {
      const { asks } = request as Message & { asks: Message[] };
      requests.push(asks.length);
      const refusals: { at: number; error: string }[] = [];
      const answers = await Promise.all(
        asks.map(async (ask, at) =>
          // A fake may throw before it has a promise.
          Promise.resolve(ask)
            .then(one)
            .catch((error: unknown) => {
              refusals.push({ at, error: writeRefusal(toApiError(error)) });
              return {};
            }),
        ),
      );
      return create(method.output, { answers, refusals } as MessageInitShape<typeof method.output>);
    };
    const answer = async (call: ServerUnaryCall<Message, Message>): Promise<Message> => {
      if (call.metadata.get('authorization')[0] === `Bearer ${token}`) return many(call.request);
      throw apiError('credentials_invalid', 'wrong token');
    };
    const handle = (call: ServerUnaryCall<Message, Message>, reply: sendUnaryData<Message>): void => {
      answer(call).then(
        (message) => reply(null, message),
        (error: Error) => reply(failure(error)),
      );
    };
    server.register(
      `/${DispatchService.typeName}/${method.name}`,
      handle,
      (value: Message) => Buffer.from(toBinary(method.output, value)),
      (bytes: Buffer) => fromBinary(method.input, bytes),
      'unary',
    );
  }
  const bound = await new Promise<number>((resolve, reject) => {
    server.bindAsync(`127.0.0.1:${port}`, ServerCredentials.createInsecure(), (error, at) =>
      error === null ? resolve(at) : reject(error),
    );
  });
  return {
    url: `grpc://127.0.0.1:${bound}`,
    port: bound,
    requests,
    close: async () => new Promise<void>((resolve) => server.tryShutdown(() => resolve())),
    kill: async () => server.forceShutdown(),
  };
}

function failure(thrown: Error) {
  const error = toApiError(thrown);
  const metadata = new Metadata();
  metadata.set(ERROR_TRAILER, Buffer.from(writeRefusal(error)));
  return { code: error.connect as number, details: error.message, metadata };
}
