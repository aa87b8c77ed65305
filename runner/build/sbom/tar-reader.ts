/**
 * Reads the entries of a tar stream one after the other and keeps none of them: the formats ustar, GNU and
 * pax, as `podman export` and `docker export` print them. A body is read when it is asked for, while its
 * entry is the current one, and skipped otherwise.
 */
import { openByteStream, type ByteStream } from './byte-stream.ts';

const BLOCK = 512;
const STREAM_BYTES_MAX = 8 * 1_024 ** 3;
const ENTRIES_MAX = 2_000_000;
/** The limit of a pax header, and of a long name. */
const HEADER_BYTES_MAX = 1_048_576;
/** The limit of a body that is read at once. */
export const BODY_BYTES_MAX = 16 * 1_048_576;
/** Linux takes no longer path. */
const PATH_LENGTH_MAX = 4_096;

export type TarEntryType = 'file' | 'directory' | 'hard link' | 'other';

export interface TarEntry {
  /** Without a slash or a dot in front, and without `..`. */
  readonly path: string;
  readonly type: TarEntryType;
  readonly size: number;
  readonly executable: boolean;
  /** The entry that a hard link means. */
  readonly linkPath?: string;
  /**
   * Reads the whole body. It is undefined when it is longer than `bytesMax`, which is at most BODY_BYTES_MAX.
   */
  read(bytesMax?: number): Promise<Buffer | undefined>;
  /** The rest of the body, piece by piece, whatever its length. */
  pieces(): AsyncIterable<Buffer>;
}

export interface TarOptions {
  signal: AbortSignal;
  /** Called for an entry whose path leads out of the image, or is longer than a path can be. */
  onDropped: () => void;
}

/**
 * Throws when the stream is cut off or broken, or past a bound: what was read before it is right
 * nevertheless.
 */
export async function* readTar(
  source: AsyncIterable<Uint8Array>,
  { signal, onDropped }: TarOptions,
): AsyncGenerator<TarEntry, void, undefined> {
  const stream = openByteStream(source, { signal, bytesMax: STREAM_BYTES_MAX });
  try {
    let entries = 0;
    for (;;) {
      const header = await nextHeader(stream);
      if (header === undefined) break;
      entries += 1;
      if (entries > ENTRIES_MAX) throw new Error(`it has more than ${ENTRIES_MAX} entries`);
      const body = new Body(stream, header.size);
      const path = normalPath(header.path);
      if (path === undefined) onDropped();
      else if (path !== '') yield entryOf(header, path, body);
      await body.end();
    }
    // Whoever writes the stream is still busy with its end, and would call a closed pipe a failure.
    while ((await stream.piece(BODY_BYTES_MAX)) !== undefined);
  } finally {
    stream.close();
  }
}

interface Header {
  path: string;
  linkPath: string;
  typeFlag: string;
  size: number;
  mode: number;
}

function entryOf(header: Header, path: string, body: Body): TarEntry {
  const type = typeOf(header.typeFlag);
  const linkPath = type === 'hard link' ? normalPath(header.linkPath) : undefined;
  return {
    path,
    type,
    size: header.size,
    executable: (header.mode & 0o111) !== 0,
    ...(linkPath === undefined ? {} : { linkPath }),
    read: async (bytesMax = BODY_BYTES_MAX) =>
      header.size > Math.min(bytesMax, BODY_BYTES_MAX) ? undefined : await body.whole(),
    pieces: () => body.pieces(),
  };
}

function typeOf(flag: string): TarEntryType {
  if (flag === '0' || flag === '\0' || flag === '7') return 'file';
  return flag === '1' ? 'hard link' : flag === '5' ? 'directory' : 'other';
}

/** The bytes of one entry, and the zeros that fill its last block. */
class Body {
  readonly #stream: ByteStream;
  readonly #padding: number;
  #left: number;

  constructor(stream: ByteStream, size: number) {
    this.#stream = stream;
    this.#left = size;
    this.#padding = (BLOCK - (size % BLOCK)) % BLOCK;
  }

  async whole(): Promise<Buffer> {
    const bytes = await takeExactly(this.#stream, this.#left);
    this.#left = 0;
    return bytes;
  }

  async *pieces(): AsyncGenerator<Buffer, void, undefined> {
    while (this.#left > 0) {
      const piece = await this.#stream.piece(this.#left);
      if (piece === undefined) throw cutOff();
      this.#left -= piece.length;
      yield piece;
    }
  }

  async end(): Promise<void> {
    for await (const _piece of this.pieces());
    await takeExactly(this.#stream, this.#padding);
  }
}

function cutOff(): Error {
  return new Error('it ends in the middle of an entry');
}

async function takeExactly(stream: ByteStream, count: number): Promise<Buffer> {
  const bytes = await stream.take(count);
  if (bytes.length < count) throw cutOff();
  return bytes;
}

/**
 * Reads the header of the next entry with what the entries before it say about it; undefined at the end of
 * the archive.
 */
async function nextHeader(stream: ByteStream): Promise<Header | undefined> {
  let longName: string | undefined;
  let longLink: string | undefined;
  let pax = new Map<string, string>();
  // An entry has at most a pax header, a global one, a long name and a long target.
  for (let before = 0; before <= 4; before += 1) {
    const header = readHeader(await stream.take(BLOCK));
    if (header === undefined) return undefined;
    if (!/[LKxg]/.test(header.typeFlag)) {
      const size = pax.get('size');
      return {
        ...header,
        path: pax.get('path') ?? longName ?? header.path,
        linkPath: pax.get('linkpath') ?? longLink ?? header.linkPath,
        ...(size === undefined || isBodiless(header.typeFlag) ? {} : { size: sizeOf(size, 10) }),
      };
    }
    if (header.size > HEADER_BYTES_MAX)
      throw new Error(`a header is ${header.size} bytes long, at most ${HEADER_BYTES_MAX} are read`);
    const body = new Body(stream, header.size);
    const bytes = await body.whole();
    await body.end();
    if (header.typeFlag === 'L') longName = textOf(bytes);
    if (header.typeFlag === 'K') longLink = textOf(bytes);
    if (header.typeFlag === 'x') pax = readPax(bytes);
  }
  throw new Error('it has more than 4 headers in a row that describe one entry');
}

function readHeader(block: Buffer): Header | undefined {
  if (block.length === 0) return undefined;
  if (block.length < BLOCK) throw cutOff();
  // A block of zeros ends the archive.
  if (block[0] === 0 && block.every((byte) => byte === 0)) return undefined;
  let sum = 0;
  // The checksum counts itself as spaces.
  for (let at = 0; at < BLOCK; at += 1) sum += at >= 148 && at < 156 ? 0x20 : (block[at] ?? 0);
  const written = Number.parseInt(textOf(block.subarray(148, 156)).trim(), 8);
  if (sum !== written) throw new Error(`the checksum of a header is ${written}, its bytes give ${sum}`);
  const typeFlag = block.toString('latin1', 156, 157);
  const name = textOf(block.subarray(0, 100));
  // GNU tar keeps other things there, and ends its magic with a space.
  const prefix = block.toString('latin1', 257, 263) === 'ustar\0' ? textOf(block.subarray(345, 500)) : '';
  return {
    path: prefix === '' ? name : `${prefix}/${name}`,
    linkPath: textOf(block.subarray(157, 257)),
    typeFlag,
    size: isBodiless(typeFlag) ? 0 : readSize(block.subarray(124, 136)),
    mode: Number.parseInt(textOf(block.subarray(100, 108)), 8) || 0,
  };
}

/** Links, folders and devices have no body, whatever their size says. */
function isBodiless(typeFlag: string): boolean {
  return /[1-6]/.test(typeFlag);
}

/** Reads octal digits, or a binary number behind a byte 0x80. */
function readSize(field: Buffer): number {
  if ((field[0] ?? 0) < 0x80) return sizeOf(textOf(field).trim() || '0', 8);
  const value = BigInt(`0x${field.subarray(1).toString('hex')}`);
  if (field[0] !== 0x80 || value > BigInt(STREAM_BYTES_MAX))
    throw new Error(`an entry of 0x${field.toString('hex')} bytes, at most ${STREAM_BYTES_MAX} are read`);
  return Number(value);
}

function sizeOf(text: string, base: 8 | 10): number {
  const size = /^\d{1,19}$/.test(text) ? Number.parseInt(text, base) : Number.NaN;
  if (!(size <= STREAM_BYTES_MAX))
    throw new Error(`an entry of ${JSON.stringify(text)} bytes, at most ${STREAM_BYTES_MAX} are read`);
  return size;
}

/** Records like `27 path=usr/share/doc/x\n`, each of which begins with its length. */
function readPax(bytes: Buffer): Map<string, string> {
  const records = new Map<string, string>();
  for (let at = 0; at < bytes.length;) {
    const space = bytes.indexOf(0x20, at);
    const length = space < 0 || space - at > 8 ? Number.NaN : Number(bytes.toString('latin1', at, space));
    const equals = bytes.indexOf(0x3d, space);
    const end = at + length;
    if (!(end <= bytes.length) || equals <= space || equals >= end)
      throw new Error('a pax header cannot be read');
    records.set(bytes.toString('utf8', space + 1, equals), bytes.toString('utf8', equals + 1, end - 1));
    at = end;
  }
  return records;
}

function textOf(field: Buffer): string {
  const end = field.indexOf(0);
  return field.toString('utf8', 0, end < 0 ? field.length : end);
}

/** The path is empty for the root itself. */
function normalPath(path: string): string | undefined {
  if (path.length > PATH_LENGTH_MAX || path.includes('\0')) return undefined;
  const parts = path.split('/').filter((part) => part !== '' && part !== '.');
  return parts.includes('..') ? undefined : parts.join('/');
}
