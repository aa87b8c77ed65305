/**
 * The port serves grpc.reflection v1 and v1alpha from our own descriptors, for grpcurl and its like. It tells
 * what is in the protos and asks for the shared secret all the same: nobody else has business on this port.
 */
import { toBinary } from '@bufbuild/protobuf';
import type { DescFile } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { status } from '@grpc/grpc-js';
import type { Metadata, Server, ServerDuplexStream } from '@grpc/grpc-js';
import { ReflectionService } from '@grpc/reflection';
import { service as healthService } from 'grpc-health-check';

export interface ReflectionOptions {
  /** Names that are listed. */
  readonly services: readonly string[];
  /** What can be looked up, and all that it imports. */
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
