/**
 * Reads the message that a Connect, gRPC or gRPC-Web request carries: it is found in the body, in its
 * envelope or in the query, unpacked with a bound, counted against the contract, and decoded when the caller
 * is known to be allowed to ask.
 */
import { fromBinary, fromJson, type JsonValue, type Message } from '@bufbuild/protobuf';
import { MethodOptions_IdempotencyLevel } from '@bufbuild/protobuf/wkt';
import type { ActiveCall } from './active-call.ts';
import { decodeContent } from './body.ts';
import { assertJsonBounded, boundsOf } from './bounds.ts';
import { apiError, type ApiError } from './errors.ts';
import { parseJson, problem } from './json-text.ts';
import type { RpcInfo } from './rpc.ts';
import { scanWire } from './wire-scan.ts';

/** Headers that announce a compression, by protocol. */
const ENCODING_HEADER = {
  unary: 'content-encoding',
  stream: 'connect-content-encoding',
  grpc: 'grpc-encoding',
} as const;

export const ENCODING_HEADERS: readonly string[] = Object.values(ENCODING_HEADER);

/** Compressions that these protocols may name; REST knows more. */
const ENCODINGS: ReadonlySet<string> = new Set(['gzip', 'br']);

export interface SentMessage {
  readonly contentType: string;
  /** Message; it is absent where it is in the body. */
  readonly message?: Uint8Array;
  /** Compression of the message; it is absent when there is none. */
  readonly encoding?: string;
  readonly unknownEncoding?: { readonly header: string; readonly name: string };
}

export interface ReadMessage {
  /** Length of the unpacked message. */
  readonly bytes: number;
  /** Value of its field `team_id`. */
  readonly teamId: string | undefined;
  /** Throws `validation_failed`. */
  decode(): Message;
  /** A message without a field, in the same framing and encoding. */
  readonly empty: Uint8Array;
}

/** It returns true for everything but a unary call of Connect. */
export function isEnveloped({ protocol, rpc }: ActiveCall): boolean {
  return protocol !== 'connect' || rpc.desc.methodKind !== 'unary';
}

/**
 * Reads what the head says of the message. A Connect GET carries in its query what a POST carries in its
 * body; from here on it is one.
 */
export function sentMessage(call: ActiveCall, query: string): SentMessage {
  const { rpc, request } = call;
  const method = request.method ?? '';
  if (method === 'POST') {
    const header = encodingHeader(call);
    return { contentType: call.header('content-type') ?? '', ...encodingOf(header, call.header(header)) };
  }
  const mayGet = mayBeGot(rpc);
  if (method !== 'GET' || !mayGet) {
    const allow = mayGet ? 'GET, POST' : 'POST';
    throw apiError('method_not_allowed', `${method} is not possible at /${rpc.id}, ${allow} is`, {
      headers: { allow },
    });
  }
  const parameters = new URLSearchParams(query);
  const message = parameters.get('message') ?? '';
  return {
    contentType: `application/${parameters.get('encoding') ?? ''}`,
    message: Buffer.from(message, parameters.get('base64') === '1' ? 'base64url' : 'utf8'),
    ...encodingOf(ENCODING_HEADER.unary, parameters.get('compression') ?? undefined),
  };
}

function mayBeGot({ desc }: RpcInfo): boolean {
  return desc.methodKind === 'unary' && desc.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
}

function encodingHeader(call: ActiveCall): string {
  if (call.protocol !== 'connect') return ENCODING_HEADER.grpc;
  return isEnveloped(call) ? ENCODING_HEADER.stream : ENCODING_HEADER.unary;
}

function encodingOf(header: string, name: string | undefined): Partial<SentMessage> {
  if (name === undefined || name === '' || name === 'identity') return {};
  return ENCODINGS.has(name) ? { encoding: name } : { unknownEncoding: { header, name } };
}

/** Unpacks and counts. Throws `validation_failed`, `body_too_large`. */
export async function readMessage(
  call: ActiveCall,
  sent: SentMessage,
  body: Uint8Array,
): Promise<ReadMessage> {
  const { rpc } = call;
  const { input } = rpc.desc;
  const enveloped = isEnveloped(call);
  const framed = sent.message ?? body;
  const { packed, compressed } = enveloped ? opened(framed) : { packed: framed, compressed: true };
  if (enveloped && compressed && sent.encoding === undefined)
    throw problem('', 'envelope', 'the message is marked as compressed, and no header says how');
  const bytes = await decodeContent(packed, compressed ? sent.encoding : undefined, rpc.bodyBytesMax);
  if (bytes.length > rpc.bodyBytesMax) throw tooLarge(bytes.length, rpc.bodyBytesMax);
  if (isJson(sent.contentType)) {
    const value = parseJson(bytes, boundsOf(input));
    assertJsonBounded(input, value);
    return {
      bytes: bytes.length,
      teamId: teamOf(value),
      decode: () => decodeJson(rpc, value),
      empty: enveloped ? EMPTY_JSON_ENVELOPE : EMPTY_JSON,
    };
  }
  const teamField = rpc.teamInPath ? input.fields.find(({ name }) => name === 'team_id') : undefined;
  const teamId = scanWire(input, bytes, teamField?.number);
  return {
    bytes: bytes.length,
    teamId,
    decode: () => decodeBinary(rpc, bytes),
    empty: enveloped ? EMPTY_ENVELOPE : EMPTY,
  };
}

const ENVELOPE_HEAD_BYTES = 5;
const COMPRESSED = 1;

const EMPTY = new Uint8Array(0);
const EMPTY_ENVELOPE = new Uint8Array(ENVELOPE_HEAD_BYTES);
const EMPTY_JSON = new TextEncoder().encode('{}');
const EMPTY_JSON_ENVELOPE = new Uint8Array([0, 0, 0, 0, EMPTY_JSON.length, ...EMPTY_JSON]);

/** Opens the one message of an enveloped body. */
function opened(body: Uint8Array): { readonly packed: Uint8Array; readonly compressed: boolean } {
  if (body.length < ENVELOPE_HEAD_BYTES)
    throw problem('', 'envelope', `the body holds no message, only ${body.length} bytes`);
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  const flags = view.getUint8(0);
  const length = view.getUint32(1);
  const held = body.length - ENVELOPE_HEAD_BYTES;
  if ((flags & ~COMPRESSED) !== 0)
    throw problem('', 'envelope', `the message has the flags ${flags}; 0 and 1, compressed, are known`);
  if (length !== held)
    throw problem('', 'envelope', `the body is not one message of ${length} bytes, it holds ${held}`);
  return { packed: body.subarray(ENVELOPE_HEAD_BYTES), compressed: flags === COMPRESSED };
}

function tooLarge(actual: number, bytesMax: number): ApiError {
  return apiError('body_too_large', `the message has ${actual} bytes, at most ${bytesMax} are taken`, {
    details: { limitBytes: bytesMax },
  });
}

function isJson(contentType: string): boolean {
  return /[/+]json\b/i.test(contentType);
}

function teamOf(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { teamId, team_id } = value as { readonly teamId?: unknown; readonly team_id?: unknown };
  const said = teamId ?? team_id;
  return typeof said === 'string' ? said : undefined;
}

function decodeJson({ desc }: RpcInfo, value: unknown): Message {
  try {
    // Unknown fields are mistakes of the caller here as on REST.
    return fromJson(desc.input, value as JsonValue, { ignoreUnknownFields: false });
  } catch (error) {
    throw unreadable(error);
  }
}

function decodeBinary({ desc }: RpcInfo, bytes: Uint8Array): Message {
  try {
    return fromBinary(desc.input, bytes, { readUnknownFields: false });
  } catch (error) {
    throw unreadable(error);
  }
}

/** The library names field and type, and quotes at most the value that it could not read. */
const REASON_CHARS_MAX = 200;

function unreadable(error: unknown): Error {
  const why = error instanceof Error ? error.message.slice(0, REASON_CHARS_MAX) : '';
  return problem('', 'message', `the message could not be read: ${why}`);
}
