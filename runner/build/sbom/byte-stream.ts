/** Takes exact numbers of bytes from a stream of pieces of any size. */

export interface ByteStream {
  /** Fewer bytes than asked for only at the end of the stream. */
  take(count: number): Promise<Buffer>;
  /**
   * The next bytes in the pieces in which they come, at least one and at most `max`; undefined at the end.
   */
  piece(max: number): Promise<Buffer | undefined>;
  /** Gives the stream back to its source. */
  close(): void;
}

export interface ByteStreamOptions {
  signal: AbortSignal;
  /** Past it the stream counts as broken. */
  bytesMax: number;
}

/** Its functions reject with the signal's reason, even while the source is silent. */
export function openByteStream(
  source: AsyncIterable<Uint8Array>,
  { signal, bytesMax }: ByteStreamOptions,
): ByteStream {
  const iterator = source[Symbol.asyncIterator]();
  let held: Buffer = Buffer.alloc(0);
  let readBytes = 0;
  const piece = async (max: number): Promise<Buffer | undefined> => {
    while (held.length === 0) {
      const next = await unlessAborted(signal, async () => await iterator.next());
      if (next.done === true) return undefined;
      held = Buffer.from(next.value.buffer, next.value.byteOffset, next.value.byteLength);
      readBytes += held.length;
      if (readBytes > bytesMax) throw new Error(`it is longer than ${bytesMax} bytes`);
    }
    const taken = held.subarray(0, max);
    held = held.subarray(taken.length);
    return taken;
  };
  return {
    piece,
    async take(count) {
      const parts: Buffer[] = [];
      let missing = count;
      while (missing > 0) {
        const part = await piece(missing);
        if (part === undefined) break;
        parts.push(part);
        missing -= part.length;
      }
      return Buffer.concat(parts);
    },
    close() {
      // A source that is silent does not answer this either.
      void Promise.resolve(iterator.return?.()).catch(() => undefined);
    },
  };
}

async function unlessAborted<T>(signal: AbortSignal, act: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  let onAbort: () => void = () => undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    onAbort = () => reject(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([act(), aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
