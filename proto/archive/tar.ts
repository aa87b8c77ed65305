/**
 * Writes the part of the ustar format that a root filesystem or a package of evidence needs: folders, files
 * and links, all owned by root.
 */

const BLOCK = 512;

export type TarEntry =
  | { type: 'directory'; path: string; mode: number }
  | { type: 'file'; path: string; mode: number; content: Uint8Array }
  | { type: 'link'; path: string; target: string };

const TYPE_FLAG = { file: '0', link: '2', directory: '5' } as const;

/** Time stamps are zero, so the same entries give the same bytes. */
export function writeTar(entries: Iterable<TarEntry>): Buffer {
  return Buffer.concat([...tarPieces(entries)]);
}

/** The same in pieces, of which contents are no copies. */
export function* tarPieces(entries: Iterable<TarEntry>): Generator<Uint8Array> {
  for (const entry of entries) {
    const content = entry.type === 'file' ? entry.content : new Uint8Array();
    yield header(entry, content.length);
    yield content;
    yield new Uint8Array(paddingOf(content.length));
  }
  yield new Uint8Array(END);
}

const END = 2 * BLOCK;
const paddingOf = (size: number): number => (BLOCK - (size % BLOCK)) % BLOCK;

/** What files of these sizes make of a tar file, its end included. */
export function tarBytes(sizes: Iterable<number>): number {
  let total = END;
  for (const size of sizes) total += BLOCK + size + paddingOf(size);
  return total;
}

function header(entry: TarEntry, size: number): Buffer {
  const target = entry.type === 'link' ? entry.target : '';
  for (const text of [entry.path, target]) {
    if (Buffer.byteLength(text) > 100)
      throw new Error(`path of ${text.length} bytes in a tar file, limit 100: ${text}`);
  }
  const block = Buffer.alloc(BLOCK);
  const octal = (value: number, offset: number, length: number) =>
    block.write(`${value.toString(8).padStart(length - 1, '0')}\0`, offset, 'ascii');
  block.write(entry.path, 0);
  octal(entry.type === 'link' ? 0o777 : entry.mode, 100, 8);
  octal(0, 108, 8); // uid
  octal(0, 116, 8); // gid
  octal(size, 124, 12);
  octal(0, 136, 12); // mtime
  block.write(' '.repeat(8), 148); // The checksum counts itself as spaces.
  block.write(TYPE_FLAG[entry.type], 156);
  block.write(target, 157);
  block.write('ustar\x0000', 257, 'latin1');
  const checksum = block.reduce((sum, byte) => sum + byte, 0);
  block.write(`${checksum.toString(8).padStart(6, '0')}\0 `, 148, 'ascii');
  return block;
}
