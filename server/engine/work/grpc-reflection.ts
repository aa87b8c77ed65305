/**
 * grpc.reflection v1 and v1alpha (the same messages under two names) from our own descriptors, for grpcurl and its like. It tells what is in the protos and
 * asks for the shared secret all the same: nobody else has business on this port.
 */
import { toBinary } from '@bufbuild/protobuf';
import type { DescFile } from '@bufbuild/protobuf';
import { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { status } from '@grpc/grpc-js';
import type { Metadata, Server, ServerDuplexStream } from '@grpc/grpc-js';

/** `ServerReflectionRequest`: which field was asked, and its text. */
interface Ask {
  readonly host: string;
  readonly field: number;
  readonly text: string;
  readonly bytes: Buffer;
}

const FILE_BY_NAME = 3;
const FILE_OF_SYMBOL = 4;
const LIST_SERVICES = 7;
const NOT_FOUND = 5;
const UNIMPLEMENTED = 12;

const lengthDelimited = (field: number): number => (field << 3) | 2;
const varint = (field: number): number => field << 3;

function readAsk(bytes: Buffer): Ask {
  const reader = new BinaryReader(bytes);
  let host = '';
  let field = 0;
  let text = '';
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    if (number === 1) host = reader.string();
    else if (number === FILE_BY_NAME || number === FILE_OF_SYMBOL || number === LIST_SERVICES) {
      field = number;
      text = reader.string();
    } else {
      field = number;
      reader.skip(wireType, number);
    }
  }
  return { host, field, text, bytes };
}

function writeAnswer({ host, bytes }: Ask, field: number, body: Uint8Array): Buffer {
  const writer = new BinaryWriter().uint32(lengthDelimited(1)).string(host);
  writer.uint32(lengthDelimited(2)).bytes(bytes);
  writer.uint32(lengthDelimited(field)).bytes(body);
  return Buffer.from(writer.finish());
}

function writeError(ask: Ask, code: number, message: string): Buffer {
  const body = new BinaryWriter()
    .uint32(varint(1))
    .int32(code)
    .uint32(lengthDelimited(2))
    .string(message)
    .finish();
  return writeAnswer(ask, 7, body);
}

/** A file after everything that it imports, each once. */
function withImports(file: DescFile, seen = new Set<DescFile>()): DescFile[] {
  if (seen.has(file)) return [];
  seen.add(file);
  return [...file.dependencies.flatMap((each) => withImports(each, seen)), file];
}

function* symbolsOf(file: DescFile): Iterable<string> {
  for (const message of file.messages) {
    yield message.typeName;
    for (const nested of [...message.nestedMessages, ...message.nestedEnums]) yield nested.typeName;
  }
  for (const { typeName } of [...file.enums, ...file.extensions]) yield typeName;
  for (const service of file.services) {
    yield service.typeName;
    for (const method of service.methods) yield `${service.typeName}.${method.name}`;
  }
}

export function serveReflection(
  server: Server,
  roots: readonly DescFile[],
  services: readonly string[],
  isAllowed: (metadata: Metadata) => boolean,
): void {
  const files = roots.flatMap((root) => withImports(root));
  const byName = new Map(files.map((file) => [file.proto.name, file]));
  const bySymbol = new Map(
    files.flatMap((file) => [...symbolsOf(file)].map((symbol) => [symbol, file] as const)),
  );

  const fileAnswer = (ask: Ask, file: DescFile | undefined): Buffer => {
    if (file === undefined) return writeError(ask, NOT_FOUND, `${ask.text} is not known here`);
    const body = new BinaryWriter();
    // The file itself comes first, as clients expect.
    for (const each of withImports(file).toReversed()) {
      body.uint32(lengthDelimited(1)).bytes(toBinary(FileDescriptorProtoSchema, each.proto));
    }
    return writeAnswer(ask, 4, body.finish());
  };
  const answer = (ask: Ask): Buffer => {
    if (ask.field === FILE_BY_NAME) return fileAnswer(ask, byName.get(ask.text));
    if (ask.field === FILE_OF_SYMBOL) return fileAnswer(ask, bySymbol.get(ask.text));
    if (ask.field !== LIST_SERVICES)
      return writeError(ask, UNIMPLEMENTED, 'extensions are not looked up here');
    const body = new BinaryWriter();
    for (const name of services) {
      body
        .uint32(lengthDelimited(1))
        .bytes(new BinaryWriter().uint32(lengthDelimited(1)).string(name).finish());
    }
    return writeAnswer(ask, 6, body.finish());
  };
  const handle = (call: ServerDuplexStream<Ask, Buffer>): void => {
    if (!isAllowed(call.metadata)) {
      call.emit('error', { code: status.UNAUTHENTICATED, details: 'the internal token is missing or wrong' });
      return;
    }
    call.on('data', (ask: Ask) => call.write(answer(ask)));
    call.on('end', () => call.end());
  };
  for (const version of ['v1', 'v1alpha']) {
    server.register(
      `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
      handle,
      (bytes: Buffer) => bytes,
      readAsk,
      'bidi',
    );
  }
}
