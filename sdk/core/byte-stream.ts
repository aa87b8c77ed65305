/**
 * Gives an answer of raw bytes as it comes, over one connection: a byte has no id to resume from, so what
 * breaks off is an error. Leaving the loop closes the connection.
 */
import { STREAM_IDLE_MS } from './event-stream.ts';
import { connectionError, type OpenAnswer } from './send.ts';

export interface ByteSource {
  readonly label: string;
  readonly signal: AbortSignal | undefined;
  /** Connects, with the usual retries. */
  open(signal: AbortSignal): Promise<OpenAnswer>;
}

export class ByteStream implements AsyncIterable<Uint8Array> {
  readonly #source: ByteSource;
  readonly #controller = new AbortController();
  #answer: Promise<OpenAnswer> | undefined;
  #used = false;

  constructor(source: ByteSource) {
    this.#source = source;
  }

  /** Ends the stream from outside; a running iteration throws SvcAbortError. */
  abort(reason?: unknown): void {
    this.#controller.abort(reason);
  }

  /**
   * It resolves with the content type of the bytes, such as `text/plain`. It connects; a stream that is then
   * not wanted is to be aborted.
   */
  async contentType(): Promise<string> {
    const { response } = await this.#connected();
    return response.headers.get('content-type') ?? 'application/octet-stream';
  }

  /** Connects on the first step. Can be iterated once; leaving the loop early closes the connection. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, undefined> {
    if (this.#used) throw new Error('a byte stream can be iterated once; call the method again for another');
    this.#used = true;
    const { label } = this.#source;
    const { response, scope } = await this.#connected();
    const reader = response.body?.getReader();
    try {
      while (reader !== undefined) {
        scope.restart(STREAM_IDLE_MS);
        const chunk = await scope.race(reader.read()).catch((error: unknown) => {
          throw connectionError(label, error);
        });
        // The time that the consumer takes over the bytes is not the server's silence.
        scope.pause();
        if (chunk.value === undefined) return;
        yield chunk.value;
      }
    } finally {
      scope.close();
      // The connection may be gone already; there is nobody to tell.
      await reader?.cancel().catch(() => undefined);
    }
  }

  /**
   * It calls `onBytes` for every piece, one after the other, waiting for each; resolves when all have come.
   */
  async forEach(onBytes: (bytes: Uint8Array) => unknown): Promise<void> {
    for await (const bytes of this) await onBytes(bytes);
  }

  /** It resolves with all of it at once, in memory. */
  async bytes(): Promise<Uint8Array> {
    const pieces: Uint8Array[] = [];
    for await (const piece of this) pieces.push(piece);
    const all = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const piece of pieces) {
      all.set(piece, at);
      at += piece.length;
    }
    return all;
  }

  /** Resolves with all of it at once, read as UTF-8. */
  async text(): Promise<string> {
    return new TextDecoder().decode(await this.bytes());
  }

  #connected(): Promise<OpenAnswer> {
    const { signal } = this.#source;
    const own = this.#controller.signal;
    this.#answer ??= this.#source
      .open(signal === undefined ? own : AbortSignal.any([signal, own]))
      .then((answer) => {
        answer.scope.pause();
        return answer;
      });
    return this.#answer;
  }
}
