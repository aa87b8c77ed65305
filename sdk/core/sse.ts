/**
 * Decodes text/event-stream (WHATWG HTML 9.2), fed with bytes in pieces of any size. It owns the unfinished
 * line and the unfinished event; what must hold is that the cut of the pieces never changes what comes out.
 * `retry:` is ignored: pauses follow the backoff of all other calls.
 */

export interface SseEvent {
  /** `message` when the server named none. */
  readonly event: string;
  /** Lines joined by LF. */
  readonly data: string;
  /** The last id seen so far, also when this event carried none. */
  readonly id: string | undefined;
}

/**
 * One line or one event may not hold more characters: a peer that never ends a line must not fill the memory.
 */
export const EVENT_LENGTH_MAX = 8 * 1024 * 1024;

export class SseDecoder {
  // Strips a byte order mark and keeps a character that is cut in two until its rest comes.
  readonly #utf8 = new TextDecoder();
  #line = '';
  #endedWithCr = false;
  #event = '';
  #data: string[] = [];
  #dataLength = 0;
  #id: string | undefined;

  /** Returns the events that `bytes` completes. */
  push(bytes: Uint8Array): SseEvent[] {
    let text = this.#utf8.decode(bytes, { stream: true });
    if (text === '') return [];
    if (this.#endedWithCr && text.startsWith('\n')) text = text.slice(1);
    this.#endedWithCr = text.endsWith('\r');
    const lines = (this.#line + text).split(/\r\n|\n|\r/);
    this.#line = lines.pop() ?? '';
    this.#checkLength(this.#line.length);
    const events: SseEvent[] = [];
    for (const line of lines) {
      const event = this.#takeLine(line);
      if (event !== undefined) events.push(event);
    }
    return events;
  }

  #takeLine(line: string): SseEvent | undefined {
    if (line === '') return this.#dispatch();
    const colon = line.indexOf(':');
    // A line that starts with a colon is a comment: the server's sign of life.
    if (colon === 0) return undefined;
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (name === 'data') {
      this.#data.push(value);
      this.#dataLength += value.length + 1;
      this.#checkLength(this.#dataLength);
    }
    if (name === 'event') this.#event = value;
    if (name === 'id' && !value.includes('\0')) this.#id = value;
    return undefined;
  }

  #dispatch(): SseEvent | undefined {
    const event = this.#event === '' ? 'message' : this.#event;
    const data = this.#data;
    this.#event = '';
    this.#data = [];
    this.#dataLength = 0;
    // By the standard an event without data is dropped; `event: done` needs none, so a named one is kept.
    if (data.length === 0 && event === 'message') return undefined;
    return { event, data: data.join('\n'), id: this.#id };
  }

  #checkLength(length: number): void {
    if (length > EVENT_LENGTH_MAX) {
      throw new RangeError(`event of more than ${EVENT_LENGTH_MAX} characters`);
    }
  }
}
