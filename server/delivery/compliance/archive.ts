/** The files of a package while it is made: in memory, and never more than a package may have. */
import { hash } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import { Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import { tarBytes, tarPieces } from '@svc/proto/archive/tar.ts';

export const PACKAGE_BYTES_MAX = 64 * 1_048_576;
/** They are kept for what is added when all else is there: the signature and the tar file's end. */
const RESERVED_BYTES = 65_536;
const MODE = 0o644;
const BLOCK_CHARS = 65_536;

export class PackageTooLarge extends Error {
  /** `limit` says how many of what. */
  constructor(limit: string) {
    super(`the package has more than ${limit}`);
    this.name = 'PackageTooLarge';
  }
}

export interface File {
  readonly path: string;
  readonly sha256: string;
  readonly size: number;
}

export interface Archive {
  has(path: string): boolean;
  /** A text, or any JSON value. */
  add(path: string, content: Uint8Array | string | object): void;
  /** A JSON list, an item a line. Answers how many there were. */
  addList(path: string, items: AsyncIterable<object>): Promise<number>;
  addGzip(path: string, lines: AsyncIterable<string>): Promise<void>;
  /** Sorted by the bytes of their paths. */
  files(): readonly File[];
  /** Pieces of the tar file; with paths, of one that has these files alone. */
  pieces(paths?: readonly string[]): Generator<Uint8Array>;
}

export function createArchive(bytesMax = PACKAGE_BYTES_MAX): Archive {
  const contents = new Map<string, { readonly content: Uint8Array; readonly sha256: string }>();
  let left = bytesMax - RESERVED_BYTES;
  const assertRoom = (size: number): void => {
    if (size > left) throw new PackageTooLarge(`${bytesMax} bytes`);
  };
  const put = (path: string, content: Uint8Array): void => {
    if (contents.has(path)) throw new Error(`${path} is in the package already`);
    const size = tarBytes([content.length]);
    assertRoom(size);
    left -= size;
    contents.set(path, { content, sha256: sha256Of(content) });
  };
  const collect = () => {
    const parts: Uint8Array[] = [];
    let size = 0;
    return {
      push: (part: Uint8Array): void => {
        size += part.length;
        assertRoom(size);
        parts.push(part);
      },
      whole: (): Buffer => Buffer.concat(parts),
    };
  };
  // Paths are ASCII, of which the order of code units is that of bytes.
  const sorted = () => [...contents].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return {
    has: (path) => contents.has(path),
    add: (path, content) => {
      const isText = typeof content === 'string' || content instanceof Uint8Array;
      put(path, Buffer.from(isText ? content : `${JSON.stringify(content, undefined, 2)}\n`));
    },
    addList: async (path, items) => {
      const list = collect();
      let count = 0;
      for await (const item of items) {
        list.push(Buffer.from(`${count === 0 ? '[' : ','}\n${JSON.stringify(item)}`));
        count += 1;
      }
      list.push(Buffer.from(count === 0 ? '[]\n' : '\n]\n'));
      put(path, list.whole());
      return count;
    },
    addGzip: async (path, lines) => {
      const zipped = collect();
      await pipeline(Readable.from(inBlocks(lines)), createGzip(), async (parts: AsyncIterable<Buffer>) => {
        for await (const part of parts) zipped.push(part);
      });
      put(path, zipped.whole());
    },
    files: () => sorted().map(([path, { content, sha256 }]) => ({ path, sha256, size: content.length })),
    pieces: (paths) =>
      tarPieces(
        sorted()
          .filter(([path]) => paths === undefined || paths.includes(path))
          .map(([path, { content }]) => ({ type: 'file', path, mode: MODE, content })),
      ),
  };
}

export function sha256Of(content: Uint8Array): string {
  return hash('sha256', content, 'hex');
}

/** A line by itself costs the streams more than its compression does. */
async function* inBlocks(lines: AsyncIterable<string>): AsyncGenerator<string> {
  let block = '';
  for await (const line of lines) {
    block += line;
    if (block.length < BLOCK_CHARS) continue;
    yield block;
    block = '';
  }
  if (block !== '') yield block;
}
