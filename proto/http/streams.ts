/**
 * Sends server streams over REST: Server-Sent Events, or newline-delimited JSON when asked for; of raw bytes
 * their bytes, one after the other. One loop per stream owns the response: it takes a message, writes it, and
 * waits for the socket to drain before it takes the next, so that a slow reader holds back the producer
 * instead of filling memory. What refuses a stream is an ordinary error response; once the app lets it run,
 * its head goes out, because a client does not wait for the head of a stream that has nothing to say yet. The
 * iterator is closed on every way out.
 */
import type { Message } from '@bufbuild/protobuf';
import { fieldsOf } from './fields.ts';
import { drained, unlessAborted } from './abort.ts';
import type { ActiveCall } from './active-call.ts';
import { errorBody, toApiError, type ApiError } from './errors.ts';
import { leaveTurn } from './in-turn.ts';
import { contentTypeOf, isHttpBody, type HttpBody } from './http-body.ts';
import { encoder } from './json-encode.ts';
import type { DoorLimits } from './limits.ts';
import { breakOff } from './reply.ts';

interface Framing {
  readonly contentType: string;
  readonly comment: string;
  /**
   * A stream without a first message begins with a comment, so that proxies which wait for a body
   * pass the head on.
   */
  readonly opens: boolean;
  message(json: string, id: string | undefined): string;
  error(json: string): string;
  readonly done: string;
}

const SSE: Framing = {
  contentType: 'text/event-stream; charset=utf-8',
  comment: ': keep-alive\n\n',
  opens: true,
  // There is no line break in JSON text.
  message: (json, id) => (id === undefined ? `data: ${json}\n\n` : `id: ${id}\ndata: ${json}\n\n`),
  error: (json) => `event: error\ndata: ${json}\n\n`,
  done: 'event: done\ndata: {}\n\n',
};

const NDJSON: Framing = {
  contentType: 'application/x-ndjson; charset=utf-8',
  comment: '\n',
  // Some readers stumble over an empty first line.
  opens: false,
  message: (json) => `${json}\n`,
  error: (json) => `${json}\n`,
  done: '',
};

/** How long the first message may take before a comment goes ahead of it. */
const OPENING_MS = 50;

/** Returns the earlier of the two in Accept, and SSE when neither is named. */
export function framingOf(accept: string | undefined): 'sse' | 'ndjson' {
  const ndjson = accept?.indexOf('application/x-ndjson') ?? -1;
  const sse = accept?.indexOf('text/event-stream') ?? -1;
  return ndjson !== -1 && (sse === -1 || ndjson < sse) ? 'ndjson' : 'sse';
}

export interface StreamOutput {
  readonly call: ActiveCall;
  readonly limits: DoorLimits;
  /** Sends an ordinary error response; for what refuses the stream. */
  readonly fail: (error: ApiError) => void;
}

/**
 * The iterator of a stream that was let run. Rejects with what refused it, or with the signal's reason; a
 * stream that is let run after that is closed at once.
 */
export async function openStream(
  starting: Promise<AsyncIterable<Message>>,
  signal: AbortSignal,
): Promise<AsyncIterator<Message>> {
  try {
    return (await unlessAborted(starting, signal))[Symbol.asyncIterator]();
  } catch (error) {
    starting.then(
      (late) => closeStream(late[Symbol.asyncIterator]()),
      () => undefined, // It is what was thrown, or comes too late to be told to anybody.
    );
    throw error;
  }
}

/** A generator that is stuck in an await ends when that await does; the signal told it. */
export function closeStream(iterator: AsyncIterator<unknown>): void {
  iterator.return?.().catch(() => {
    // Nobody is concerned any more by what a producer throws while it is being closed.
  });
}

/** Runs a stream to its end, its error, the client's leaving or the deadline. Never rejects. */
export async function sendStream(
  starting: Promise<AsyncIterable<Message>>,
  { call, limits, fail }: StreamOutput,
): Promise<void> {
  let iterator: AsyncIterator<Message> | undefined;
  try {
    iterator = await openStream(starting, call.signal);
    if (call.settled) return;
    if (isHttpBody(call.rpc.desc.output)) return await sendBytes(iterator as AsyncIterator<HttpBody>, call);
    const framing = framingOf(call.header('accept')) === 'ndjson' ? NDJSON : SSE;
    const headers = Object.assign(call.finalHeaders(), {
      'content-type': framing.contentType,
      'x-accel-buffering': 'no',
    });
    call.response.writeHead(call.status ?? call.rpc.successStatus, headers);
    call.response.flushHeaders?.();
    leaveTurn(call.response);
    await pump(iterator, call, { framing, commentMs: limits.commentMs });
  } catch (error) {
    if (!call.settled) fail(toApiError(error));
  } finally {
    if (iterator !== undefined) closeStream(iterator);
  }
}

/**
 * The bytes of all messages, of the content type that the first one states: until it has come there is no
 * head. A body cannot say that it failed, so one that does not come to its end is broken off, which no client
 * takes for a whole one.
 */
async function sendBytes(iterator: AsyncIterator<HttpBody>, call: ActiveCall): Promise<void> {
  const { response, signal } = call;
  let next = await unlessAborted(iterator.next(), signal);
  if (call.settled) return;
  const status = call.status ?? call.rpc.successStatus;
  const contentType = next.done === true ? 'application/octet-stream' : contentTypeOf(next.value);
  response.writeHead(status, Object.assign(call.finalHeaders(), { 'content-type': contentType }));
  leaveTurn(response);
  try {
    for (; next.done !== true; next = await unlessAborted(iterator.next(), signal)) {
      const { data } = next.value;
      if (data.length > 0 && !response.write(data)) await drained(response, signal);
    }
    if (call.settle(status)) response.end();
  } catch (error) {
    const known = toApiError(error);
    if (call.settle(known.status, known)) breakOff(response);
  }
}

async function pump(
  iterator: AsyncIterator<Message>,
  call: ActiveCall,
  { framing, commentMs }: { readonly framing: Framing; readonly commentMs: number },
): Promise<void> {
  const { response, rpc, signal } = call;
  const encode = encoder(rpc.desc.output);
  const idField = rpc.stream?.idField;
  let blocked = false;
  const comment = (): void => {
    // Nothing is added behind a reader that does not read.
    if (!blocked) response.write(framing.comment);
  };
  const silence = setInterval(comment, commentMs);
  const opening = framing.opens ? setTimeout(comment, OPENING_MS) : undefined;
  try {
    for (
      let next = await unlessAborted(iterator.next(), signal);
      next.done !== true;
      next = await unlessAborted(iterator.next(), signal)
    ) {
      const id = idField === undefined ? undefined : eventId(fieldsOf(next.value)[idField]);
      clearTimeout(opening);
      blocked = !response.write(framing.message(encode(next.value), id));
      if (blocked) await drained(response, signal);
      blocked = false;
      silence.refresh();
    }
    end(call, framing.done);
  } catch (error) {
    const known = toApiError(error);
    end(call, framing.error(JSON.stringify(errorBody(known, call.requestId))), known);
  } finally {
    clearInterval(silence);
    clearTimeout(opening);
  }
}

/** A line break in an id would begin another field of the event. */
function eventId(value: unknown): string | undefined {
  const id = String(value ?? '');
  return id === '' || /[\r\n\0]/.test(id) ? undefined : id;
}

function end(call: ActiveCall, last: string, error?: ApiError): void {
  if (!call.settle(error?.status ?? call.status ?? call.rpc.successStatus, error)) return;
  if (last !== '') call.response.write(last);
  call.response.end();
}
