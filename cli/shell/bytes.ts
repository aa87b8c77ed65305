/** Reads bytes of files and answers whose length somebody else decided. */
import { createReadStream } from 'node:fs';
import { UsageError } from './errors.ts';

/** Returns all of them, or a part that is longer than `bytesMax`: whoever asks refuses it by its length. */
export async function readUpTo(chunks: AsyncIterable<Uint8Array>, bytesMax: number): Promise<Buffer> {
  const read: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    read.push(chunk);
    length += chunk.length;
    if (length > bytesMax) break;
  }
  return Buffer.concat(read);
}

/** Reads the file that a flag names, in the same way. */
export async function readFileUpTo(
  path: string,
  {
    flag,
    bytesMax,
    signal,
  }: { readonly flag: string; readonly bytesMax: number; readonly signal: AbortSignal },
): Promise<Buffer> {
  try {
    return await readUpTo(createReadStream(path, { signal }), bytesMax);
  } catch (error) {
    signal.throwIfAborted();
    throw new UsageError(`cannot read the file of --${flag}: ${(error as Error).message}`);
  }
}
