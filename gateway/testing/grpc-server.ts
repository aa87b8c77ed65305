/** The dispatch service on a real gRPC port, in front of a fake: what a server does with its trailers. */
import {
  Metadata,
  Server,
  ServerCredentials,
  status,
  type sendUnaryData,
  type ServerUnaryCall,
} from '@grpc/grpc-js';
import { fromBinary, toBinary, type Message } from '@bufbuild/protobuf';
import { DispatchService } from '@svc/proto/gen/svc/dispatch/v1/dispatch_pb.ts';
import { toApiError } from '@svc/proto/http/errors.ts';
import type { Client } from '@svc/proto/http/implement.ts';
import { ERROR_TRAILER } from '../grpc-error.ts';

export interface GrpcServer {
  readonly url: string;
  readonly port: number;
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
  const bound = await new Promise<number>((resolve, reject) => {
    server.bindAsync(`127.0.0.1:${port}`, ServerCredentials.createInsecure(), (error, at) =>
      error === null ? resolve(at) : reject(error),
    );
  });
  return {
    url: `grpc://127.0.0.1:${bound}`,
    port: bound,
    kill: async () => server.forceShutdown(),
  };
}

function failure(thrown: Error) {
  if ('code' in thrown && typeof thrown.code === 'number')
    return { code: thrown.code, details: thrown.message };
  const { code, message, retryable, details, retryAfterMs, connect } = toApiError(thrown);
  const metadata = new Metadata();
  metadata.set(
    ERROR_TRAILER,
    Buffer.from(JSON.stringify({ code, message, retryable, details, retryAfterMs })),
  );
  return { code: connect as number, details: message, metadata };
}
