/** Reads the tar file of a compliance package as the service writes it: regular files alone, each once. */

const BLOCK = 512;
export const PACKAGE_BYTES_MAX = 64 * 1_048_576;

/** It returns contents by path. Throws an Error that says what is wrong. */
export function filesOf(tar: Buffer): ReadonlyMap<string, Buffer> {
  const files = new Map<string, Buffer>();
  let at = 0;
  for (; at + BLOCK <= tar.length && tar[at] !== 0;) {
    const { path, size } = readHeader(tar.subarray(at, at + BLOCK));
    if (files.has(path)) throw new Error(`${path} is there twice`);
    const content = tar.subarray(at + BLOCK, at + BLOCK + size);
    if (content.length < size) throw new Error(`it ends in the middle of ${path}`);
    files.set(path, content);
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
  }
  if (at + 2 * BLOCK > tar.length) throw new Error('it is cut off');
  if (tar.subarray(at).some((byte) => byte !== 0)) throw new Error('something lies behind its end');
  return files;
}

function readHeader(header: Buffer): { readonly path: string; readonly size: number } {
  const text = (from: number, to: number): string => /^[^\0]*/.exec(header.toString('utf8', from, to))![0];
  const path = text(0, 100);
  // The checksum counts itself as spaces.
  const sum = header.reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 0x20 : byte), 0);
  if (Number.parseInt(text(148, 156), 8) !== sum) throw new Error(`the header of ${path} is damaged`);
  if (header.toString('latin1', 156, 157) !== '0' || header[345] !== 0)
    throw new Error(`${path} is no file such as packages have`);
  return { path, size: Number.parseInt(text(124, 136), 8) };
}
