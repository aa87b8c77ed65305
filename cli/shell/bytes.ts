/** Reads bytes of files and answers whose length somebody else decided. */

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
