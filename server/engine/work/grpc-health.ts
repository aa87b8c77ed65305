/** grpc.health.v1.Health on grpc-js, by hand: two messages of one field each are less than a dependency. */
import { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';
import { status } from '@grpc/grpc-js';
import type { Server, ServerUnaryCall, ServerWritableStream, sendUnaryData } from '@grpc/grpc-js';

const SERVING = 1;
const NOT_SERVING = 2;
const SERVICE_UNKNOWN = 3;

/** `HealthCheckRequest`. An object, because grpc-js takes an empty string for a request that never came. */
interface Ask {
  readonly service: string;
}

function readAsk(bytes: Buffer): Ask {
  const reader = new BinaryReader(bytes);
  let service = '';
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (field === 1) service = reader.string();
    else reader.skip(wireType, field);
  }
  return { service };
}

/** `HealthCheckResponse.status`. */
function writeStatus(value: number): Buffer {
  return Buffer.from(new BinaryWriter().uint32(8).int32(value).finish());
}

export interface Health {
  /** Says NOT_SERVING from now on and tells the watchers. */
  stop(): void;
}

/** `services` besides '', which stands for the whole server. */
export function serveHealth(server: Server, services: readonly string[]): Health {
  const known = new Set(['', ...services]);
  const watchers = new Set<ServerWritableStream<Ask, number>>();
  let serving = true;
  const statusOf = (service: string): number => {
    if (!known.has(service)) return SERVICE_UNKNOWN;
    return serving ? SERVING : NOT_SERVING;
  };

  const check = (call: ServerUnaryCall<Ask, number>, done: sendUnaryData<number>): void => {
    const value = statusOf(call.request.service);
    if (value === SERVICE_UNKNOWN)
      done({ code: status.NOT_FOUND, details: `no service ${call.request.service} here` });
    else done(null, value);
  };
  const watch = (call: ServerWritableStream<Ask, number>): void => {
    call.write(statusOf(call.request.service));
    watchers.add(call);
    call.on('cancelled', () => watchers.delete(call));
  };
  server.register('/grpc.health.v1.Health/Check', check, writeStatus, readAsk, 'unary');
  server.register('/grpc.health.v1.Health/Watch', watch, writeStatus, readAsk, 'serverStream');
  return {
    stop: () => {
      serving = false;
      for (const call of watchers) {
        call.write(statusOf(call.request.service));
        call.end();
      }
      watchers.clear();
    },
  };
}
