/**
 * Serves the Connect, gRPC and gRPC-Web doors. Their wire formats are @connectrpc/connect's business: its
 * handlers take a request and give an answer as plain values, and this file, the only one that knows them,
 * moves those to and from Node. Our own pipeline runs inside: admission, reading, counting, decoding and
 * validation happen when the handler first asks for the body, so that a refusal is told in the protocol of
 * the caller. The handler is then given an empty message in the caller's framing, because it would decode
 * whatever it is given without a bound; the app is given what was read here (sent-message.ts).
 */
import {
  Code,
  createConnectRouter,
  createContextKey,
  createContextValues,
  type HandlerContext,
} from '@connectrpc/connect';
import {
  createAsyncIterable,
  type Compression,
  type UniversalHandler,
  type UniversalServerResponse,
} from '@connectrpc/connect/protocol';
import {
  create,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type Message,
} from '@bufbuild/protobuf';
import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';
import { drained, unlessAborted } from './abort.ts';
import { deadlineMs, type ActiveCall } from './active-call.ts';
import { readBody } from './body.ts';
import type { App, Protocol } from './call.ts';
import { toConnectError } from './connect-errors.ts';
import { apiError, toApiError, type ApiError } from './errors.ts';
import { leaveTurn } from './in-turn.ts';
import type { DoorLimits } from './limits.ts';
import type { NodeRequest } from './reply.ts';
import { failRest } from './rest.ts';
import type { RpcInfo } from './rpc.ts';
import { ENCODING_HEADERS, isEnveloped, readMessage, sentMessage, type SentMessage } from './sent-message.ts';
import { closeStream, openStream } from './streams.ts';
import { validate } from './validate.ts';

export interface RpcEntry {
  readonly rpc: RpcInfo;
  readonly app: App<unknown>;
  readonly handler: UniversalHandler;
}

export interface RpcCall {
  readonly call: ActiveCall;
  readonly entry: RpcEntry;
  readonly query: string;
  /** Told instead of an answer. */
  readonly refusal?: ApiError;
}

export interface RpcDoor {
  /** Finds an entry by its path: `/svc.runners.v1.RunnersService/List`. */
  find(path: string): RpcEntry | undefined;
  protocolOf(request: NodeRequest): Protocol;
  /** Never rejects. */
  serve(call: RpcCall): Promise<void>;
}

/** One call on its way through a handler of the library. */
interface Passage {
  readonly call: ActiveCall;
  readonly app: App<unknown>;
  caller?: unknown;
  /** The request is here, decoded and valid, from when it was read until the app has it. */
  request?: Message;
  /** A stream was let run, and its first message stands for its head alone. */
  isRunning?: true;
  /** The first error of our own making, for the record of the call. */
  failure?: ApiError;
}

const PASSAGE = createContextKey<Passage | undefined>(undefined, { description: 'passage' });

/** Bytes of framing around one message, generously. */
const FRAMING_BYTES = 1024;

export function createRpcDoor(appOf: ReadonlyMap<string, App<unknown>>, limits: DoorLimits): RpcDoor {
  const entries = new Map<string, RpcEntry>();
  for (const app of new Set(appOf.values())) {
    for (const rpc of app.rpcs) entries.set(`/${rpc.id}`, { rpc, app, handler: createHandler(rpc) });
  }
  return {
    find: (path) => entries.get(path),
    protocolOf,
    async serve(rpcCall) {
      try {
        await serve(rpcCall, limits);
      } catch (error) {
        failRest(rpcCall.call, toApiError(error));
      }
    },
  };
}

function protocolOf(request: NodeRequest): Protocol {
  const type = request.headers['content-type'] ?? '';
  if (type.startsWith('application/grpc-web')) return 'grpcweb';
  return type.startsWith('application/grpc') ? 'grpc' : 'connect';
}

function createHandler(rpc: RpcInfo): UniversalHandler {
  const router = createConnectRouter({
    acceptCompression: [compression('gzip', promisify(gzip)), compression('br', promisify(brotliCompress))],
    jsonOptions: { alwaysEmitImplicit: true },
  });
  if (rpc.desc.methodKind === 'unary') router.rpc(rpc.desc as DescMethodUnary, unary);
  else router.rpc(rpc.desc as DescMethodServerStreaming, stream);
  const [handler] = router.handlers;
  if (handler === undefined) throw new Error(`${rpc.id} got no handler`);
  return handler;
}

function compression(name: string, compress: (bytes: Uint8Array) => Promise<Buffer>): Compression {
  return {
    name,
    compress: async (bytes) => new Uint8Array(await compress(bytes)),
    // The library compresses answers alone, as what comes in was unpacked before.
    decompress: () => Promise.reject(new Error(`the door left ${name} to the library`)),
  };
}

/** It implements every unary RPC for the library. */
async function unary(_empty: Message, context: HandlerContext): Promise<Message> {
  const passage = passageOf(context);
  const { call, app, caller } = passage;
  return await passing(passage, async () => {
    const request = requestOf(passage);
    const output = await unlessAborted(app.invoke(call, caller, request), call.signal);
    for (const [name, value] of call.responseHeaders) context.responseHeader.set(name, value);
    return output;
  });
}

/** It implements every server stream for the library. */
async function* stream(_empty: Message, context: HandlerContext): AsyncIterable<Message> {
  const passage = passageOf(context);
  const { call, app, caller } = passage;
  const iterator = await passing(passage, () =>
    openStream(app.stream(call, caller, requestOf(passage)), call.signal),
  );
  try {
    for (const [name, value] of call.responseHeaders) context.responseHeader.set(name, value);
    // The library gives no head before there is a message, which may take minutes. This one is never sent.
    passage.isRunning = true;
    yield create(call.rpc.desc.output);
    for (;;) {
      const next = await passing(passage, () => unlessAborted(iterator.next(), call.signal));
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    closeStream(iterator);
  }
}

function passageOf(context: HandlerContext): Passage {
  const passage = context.values.get(PASSAGE);
  if (passage === undefined) throw new Error('a handler was called outside of the door');
  return passage;
}

/** Let go of at once: a call that waits long keeps no request. */
function requestOf(passage: Passage): Message {
  const { request } = passage;
  if (request === undefined) throw new Error('a handler was called before the door had read the request');
  delete passage.request;
  return request;
}

/** Errors on the way become the caller's protocol errors, and are remembered for the record. */
async function passing<T>(passage: Passage, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    passage.failure ??= toApiError(error);
    throw toConnectError(passage.failure, passage.call.requestId);
  }
}

async function serve({ call, entry, query, refusal }: RpcCall, limits: DoorLimits): Promise<void> {
  const { app, handler, rpc } = entry;
  const { request } = call;
  const sent = sentMessage(call, query);
  if (!handler.supportedContentType(sent.contentType)) {
    // Nothing else is said of what is switched off, in whatever protocol the caller meant to speak.
    throw (
      refusal ??
      apiError(
        'unsupported_media_type',
        `the content-type "${sent.contentType.slice(0, 80)}" is none of Connect, gRPC or gRPC-Web`,
      )
    );
  }
  const passage: Passage = { call, app };
  const admitted = async function* (): AsyncIterable<Uint8Array> {
    yield await passing(passage, () => admit(passage, { sent, refusal, limits }));
  };
  const answer = await handler({
    httpVersion: request.httpVersion,
    method: 'POST',
    url: `http://localhost/${rpc.id}`,
    // A refusal must not depend on what else is wrong with the head: an unknown compression, a version.
    header:
      refusal === undefined
        ? forwardedHeaders(request, sent)
        : new Headers({ 'content-type': sent.contentType }),
    body: admitted(),
    signal: call.signal,
    contextValues: createContextValues().set(PASSAGE, passage),
  });
  await sendAnswer(answer, passage);
}

async function admit(
  passage: Passage,
  { sent, refusal, limits }: { sent: SentMessage; refusal: ApiError | undefined; limits: DoorLimits },
): Promise<Uint8Array> {
  const { call, app } = passage;
  if (refusal !== undefined) throw refusal;
  call.startDeadline(deadlineMs(call.rpc, call), () => {
    // The signal ends the wait below and those of the implementation.
  });
  const act = async (): Promise<Uint8Array> => {
    passage.caller = await app.admit(call);
    const bytesMax = call.rpc.bodyBytesMax + (isEnveloped(call) ? FRAMING_BYTES : 0);
    const raw = await readBody(call.request, bytesMax, limits.bodyTimeoutMs);
    await app.admitBody?.(call, passage.caller, raw);
    const message = await readMessage(call, sent, raw);
    app.admitBytes?.(call, passage.caller, message.bytes);
    const { teamId } = message;
    if (call.rpc.teamInPath) app.admitTeam?.(call, passage.caller, teamId ?? '');
    passage.request = message.decode();
    validate(call.rpc.desc.input, passage.request);
    return message.empty;
  };
  return await unlessAborted(act(), call.signal);
}

/**
 * Headers that the library would act on by itself. Deadlines are ours: it refuses one that is longer than it
 * likes, where we shorten it. So are the size of a body, which has been read by then, and its compression,
 * which has been undone.
 */
const WITHHELD: ReadonlySet<string> = new Set([
  'connect-timeout-ms',
  'grpc-timeout',
  'content-length',
  ...ENCODING_HEADERS,
]);

function forwardedHeaders(request: NodeRequest, sent: SentMessage): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    if (value === undefined || name.startsWith(':') || WITHHELD.has(name)) continue;
    headers.set(name, Array.isArray(value) ? value.join(', ') : value);
  }
  headers.set('content-type', sent.contentType);
  // One that is not known is the library's to refuse, in the words of its protocol.
  if (sent.unknownEncoding !== undefined) headers.set(sent.unknownEncoding.header, sent.unknownEncoding.name);
  return headers;
}

/** Writes head, body and trailers. A reader that is slow holds the producer back. */
async function sendAnswer(answer: UniversalServerResponse, passage: Passage): Promise<void> {
  const { call } = passage;
  const { response, signal } = call;
  const body = (answer.body ?? createAsyncIterable([]))[Symbol.asyncIterator]();
  try {
    let chunk = await body.next();
    if (call.settled) return;
    const { headers } = call.exchange;
    answer.header?.forEach((value, name) => (headers[name] = value));
    response.writeHead(answer.status, headers);
    if (passage.isRunning === true) {
      response.flushHeaders?.();
      leaveTurn(response);
      chunk = await body.next();
    }
    for (; chunk.done !== true; chunk = await body.next()) {
      if (call.settled) return;
      if (!response.write(chunk.value)) await unlessSettled(drained(response, signal), call);
    }
    const failure = passage.failure ?? protocolFailure(answer);
    if (!call.settle(failure?.status ?? answer.status, failure)) return;
    if (answer.trailer !== undefined) response.addTrailers(Object.fromEntries(answer.trailer));
    response.end();
  } finally {
    body.return?.().catch(() => {
      // The answer is out, or the client is gone.
    });
  }
}

/**
 * A deadline ends a stream by its end message, which must still go out; only the client's leaving ends the
 * writing.
 */
async function unlessSettled(wait: Promise<void>, call: ActiveCall): Promise<void> {
  try {
    await wait;
  } catch (error) {
    if (call.settled) throw error;
  }
}

/** An error that the library found by itself: broken framing, a message that does not parse. */
function protocolFailure(answer: UniversalServerResponse): ApiError | undefined {
  const grpcStatus = answer.trailer?.get('grpc-status') ?? '0';
  if (answer.status === 200 && grpcStatus === '0') return undefined;
  return apiError(
    grpcStatus === String(Code.Internal) ? 'internal' : 'request_invalid',
    'the message could not be read',
  );
}
