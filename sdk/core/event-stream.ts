/**
 * Gives a server stream over SSE as an async iterable that survives broken connections.
 *
 * One loop: connect (with retries), read events until `done`, `error`, end of file or an error of the
 * connection; on the last two wait and connect again from the last event id. What must hold: no event is
 * given twice or left out, so a stream whose events carry no id is not resumed once an event was given out;
 * at most `maxRetries` reconnections in a row bring nothing; leaving the loop closes the connection.
 */
import {
  apiError,
  isRecord,
  readErrorBody,
  requestIdOf,
  SvcConnectionError,
  unreadable,
  type SvcApiError,
} from './errors.ts';
import { backoffMs } from './retry.ts';
import { connectionError, type OpenAnswer } from './send.ts';
import { sleep } from './scope.ts';
import { SseDecoder, type SseEvent } from './sse.ts';
import type { Runtime } from './runtime.ts';

/**
 * The server sends a comment every 15 s; three missed ones mean that the connection is dead without a word.
 */
export const STREAM_IDLE_MS = 45_000;

export interface StreamSource {
  readonly label: string;
  readonly runtime: Runtime;
  readonly signal: AbortSignal | undefined;
  readonly maxRetries: number;
  /** Connects, with the usual retries. */
  open(lastEventId: string | undefined, signal: AbortSignal): Promise<OpenAnswer>;
}

type Outcome = 'done' | 'broken';

export class EventStream<T> implements AsyncIterable<T> {
  readonly #source: StreamSource;
  readonly #controller = new AbortController();
  #used = false;

  constructor(source: StreamSource) {
    this.#source = source;
  }

  /** Ends the stream from outside; a running iteration throws SvcAbortError. */
  abort(reason?: unknown): void {
    this.#controller.abort(reason);
  }

  /** Connects on the first step. Can be iterated once; leaving the loop early closes the connection. */
  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const event of this.events()) yield parseData<T>(event, this.#source.label);
  }

  /**
   * It calls `onEvent` for every event, one after the other, waiting for each; resolves when the stream is
   * done.
   */
  async forEach(onEvent: (data: T, event: SseEvent) => unknown): Promise<void> {
    for await (const event of this.events()) await onEvent(parseData<T>(event, this.#source.label), event);
  }

  /** Yields the events as received, before their data is parsed. */
  async *events(): AsyncGenerator<SseEvent, void, undefined> {
    if (this.#used)
      throw new Error('an event stream can be iterated once; call the method again for another');
    this.#used = true;
    const { signal } = this.#source;
    const onAbort = (): void => this.abort(signal?.reason);
    signal?.addEventListener('abort', onAbort, { once: true });
    if (signal?.aborted === true) onAbort();
    try {
      yield* this.#run();
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
  }

  async *#run(): AsyncGenerator<SseEvent, void, undefined> {
    const { label, runtime, maxRetries } = this.#source;
    let lastEventId: string | undefined;
    let given = false;
    let fruitless = 0;
    for (;;) {
      const answer = await this.#source.open(lastEventId, this.#controller.signal);
      const reading = readEvents(answer, label);
      let outcome: Outcome = 'broken';
      try {
        for (;;) {
          const step = await reading.next();
          if (step.done === true) {
            outcome = step.value;
            break;
          }
          fruitless = 0;
          // By the standard an empty id takes the place to resume from away.
          lastEventId = step.value.id === '' ? undefined : (step.value.id ?? lastEventId);
          given = true;
          yield step.value;
        }
      } finally {
        // Also reached by `break`: closes a connection that is still open.
        await reading.return('done');
      }
      if (outcome === 'done') return;
      if (given && lastEventId === undefined) {
        throw new SvcConnectionError(`${label} broke off, and its events carry no id to resume from`);
      }
      if (fruitless >= maxRetries) {
        throw new SvcConnectionError(
          `${label} broke off ${fruitless + 1} times in a row without a new event`,
        );
      }
      const pauseMs = backoffMs(fruitless, runtime.random);
      fruitless += 1;
      await sleep(pauseMs, { label, signal: this.#controller.signal, runtime });
    }
  }
}

/**
 * It yields the events of one connection; returns how it ended, and throws what the server or the caller
 * said.
 */
async function* readEvents(answer: OpenAnswer, label: string): AsyncGenerator<SseEvent, Outcome, undefined> {
  const { response, scope } = answer;
  const reader = checkedBody(response, label)?.getReader();
  const decoder = new SseDecoder();
  try {
    // No content means by the standard: there is nothing more, do not come back.
    if (reader === undefined) return 'done';
    for (;;) {
      scope.restart(STREAM_IDLE_MS);
      const chunk = await readChunk(() => scope.race(reader.read()), label);
      // The time that the consumer takes over the events is not the server's silence.
      scope.pause();
      if (chunk === undefined) return 'broken';
      for (const event of decoder.push(chunk)) {
        if (event.event === 'done') return 'done';
        if (event.event === 'error') throw errorOfEvent(event, response, label);
        yield event;
      }
    }
  } finally {
    scope.close();
    // The connection may be gone already; there is nobody to tell.
    await reader?.cancel().catch(() => undefined);
  }
}

/**
 * Resolves with undefined at the end of the body and when the connection broke or fell silent; throws only
 * for an abort.
 */
async function readChunk(
  read: () => Promise<{ readonly value?: Uint8Array | undefined }>,
  label: string,
): Promise<Uint8Array | undefined> {
  try {
    return (await read()).value;
  } catch (error) {
    const known = connectionError(label, error);
    if (known.retryable) return undefined;
    throw known;
  }
}

function checkedBody(response: Response, label: string): ReadableStream<Uint8Array> | undefined {
  if (response.status === 204) return undefined;
  const type = (response.headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase();
  if (type === 'text/event-stream' && response.body !== null) return response.body;
  const { status, headers } = response;
  throw unreadable(`${label} answered ${status} with ${type || 'no content type'}, not an event stream`, {
    status,
    headers,
    body: undefined,
  });
}

function errorOfEvent(event: SseEvent, response: Response, label: string): SvcApiError {
  const body = jsonOf(event.data);
  // The server may send the envelope of an error answer or its inside.
  const error = readErrorBody(isRecord(body) && 'error' in body ? body : { error: body });
  return apiError(error.message ?? `${label} was ended by the server with an error`, {
    // The status line was sent long before the error came up.
    status: error.status ?? 0,
    code: error.code ?? 'stream_error',
    body,
    retryable: error.retryable ?? false,
    requestId: error.requestId ?? requestIdOf(response.headers),
    headers: response.headers,
  });
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // It is shown as it is.
    return text;
  }
}

function parseData<T>(event: SseEvent, label: string): T {
  try {
    return JSON.parse(event.data) as T;
  } catch (error) {
    const answer = { status: 0, headers: new Headers(), body: event.data };
    throw unreadable(`${label} sent an event whose data is not JSON`, answer, { cause: error });
  }
}
