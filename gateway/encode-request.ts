/**
 * The binary form of a request to the server. For output, which is most of what a gateway moves, the generated encoder would copy every byte once for
 * each message around it; here the pieces are written beside their message instead of inside of it, which means the same: a message that
 * appears twice is one message with the fields of both.
 */
import { create, toBinary, type DescMethodUnary, type Message } from '@bufbuild/protobuf';
import {
  AppendLogsRequestSchema,
  type AppendLogsRequest,
} from '@svc/proto/gen/svc/dispatch/v1/dispatch_pb.ts';
import { bufferOf } from '@svc/proto/calls/buffer-of.ts';
import { LogChunkSchema, LogsRequestSchema } from '@svc/proto/gen/svc/runner/v1/runner_pb.ts';

const LOGS = AppendLogsRequestSchema.field.logs.number;
const CHUNKS = LogsRequestSchema.field.chunks.number;
const DATA = LogChunkSchema.field.data.number;

export function encodeRequest(method: DescMethodUnary, request: Message): Buffer {
  const message = create(method.input, request);
  if (method.input.typeName === AppendLogsRequestSchema.typeName)
    return encodeAppend(message as AppendLogsRequest);
  return bufferOf(toBinary(method.input, message));
}

function encodeAppend(request: AppendLogsRequest): Buffer {
  const { logs } = request;
  const chunks = logs?.chunks ?? [];
  if (logs !== undefined) logs.chunks = [];
  const parts: Uint8Array[] = [toBinary(AppendLogsRequestSchema, request)];
  if (logs !== undefined) logs.chunks = chunks;
  for (const chunk of chunks) {
    const { data } = chunk;
    chunk.data = NO_DATA;
    const head = toBinary(LogChunkSchema, chunk);
    chunk.data = data;
    const dataHead = prefix(DATA, data.length);
    const inner = head.length + dataHead.length + data.length;
    const chunkHead = prefix(CHUNKS, inner);
    parts.push(prefix(LOGS, chunkHead.length + inner), chunkHead, head, dataHead, data);
  }
  return Buffer.concat(parts);
}

const NO_DATA = new Uint8Array();

/** Tag of a field with a length, and the length. */
function prefix(field: number, length: number): Uint8Array {
  return Uint8Array.from([...varint(field * 8 + 2), ...varint(length)]);
}

function varint(value: number): number[] {
  const bytes: number[] = [];
  for (let left = value; ; left = Math.floor(left / 128)) {
    if (left < 128) return [...bytes, left];
    bytes.push((left % 128) + 128);
  }
}
