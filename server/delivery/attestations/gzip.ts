/**
 * Unpacks gzip (RFC 1952) that anybody may have made. It has one member and nothing behind it, so that what
 * was packed can be read in one way alone.
 */
import { crc32, inflateRawSync } from 'node:zlib';

const HEAD_BYTES = 10;
/** CRC-32 and length of what was packed. */
const TAIL_BYTES = 8;
const DEFLATE = 8;
const FLAGS = { headCrc: 2, extra: 4, name: 8, comment: 16 } as const;
/** The other three have no meaning, and readers refuse them. */
const FLAGS_MAX = 31;

export const isPacked = (bytes: Uint8Array): boolean => bytes[0] === 0x1f && bytes[1] === 0x8b;

/** Throws an Error that says what is wrong. A file that says itself that it is too long is not unpacked. */
export function unpack(bytes: Uint8Array, bytesMax: number): Buffer {
  const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const from = endOfHead(whole);
  const stated = whole.readUInt32LE(whole.length - 4);
  if (stated > bytesMax) throw new Error(`it unpacks to ${stated} bytes, at most ${bytesMax} are read`);
  const { unpacked, end } = inflated(whole.subarray(from), bytesMax);
  const behind = whole.length - from - end - TAIL_BYTES;
  if (behind < 0) throw new Error('it is no whole gzip file: its end is missing');
  if (behind > 0)
    throw new Error(`${behind} bytes stand behind the end of its gzip file, which is to be one alone`);
  const crc = whole.readUInt32LE(whole.length - TAIL_BYTES);
  if (stated !== unpacked.length || crc !== crc32(unpacked))
    throw new Error('it is no whole gzip file: its length or its CRC-32 is wrong');
  return unpacked;
}

/** Returns where the packed data begin. */
function endOfHead(bytes: Buffer): number {
  const wrong = new Error('it is no whole gzip file: its head is wrong');
  const flags = bytes[3] ?? 0;
  if (bytes.length < HEAD_BYTES + TAIL_BYTES || bytes[2] !== DEFLATE || flags > FLAGS_MAX) throw wrong;
  let at = HEAD_BYTES;
  if (flags & FLAGS.extra) at += 2 + ((bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8));
  for (const text of [FLAGS.name, FLAGS.comment])
    if (flags & text) at = bytes.indexOf(0, at) + 1 || bytes.length;
  const end = flags & FLAGS.headCrc ? at + 2 : at;
  if (end + TAIL_BYTES > bytes.length) throw wrong;
  if (end > at && bytes.readUInt16LE(at) !== (crc32(bytes.subarray(0, at)) & 0xffff)) throw wrong;
  return end;
}

interface Inflated {
  readonly unpacked: Buffer;
  /** Count of bytes that were read. */
  readonly end: number;
}

function inflated(bytes: Buffer, bytesMax: number): Inflated {
  try {
    const { buffer, engine } = inflateRawSync(bytes, {
      info: true,
      maxOutputLength: bytesMax,
    }) as unknown as {
      readonly buffer: Buffer;
      readonly engine: { readonly bytesWritten: number };
    };
    return { unpacked: buffer, end: engine.bytesWritten };
  } catch (error) {
    if (error instanceof RangeError)
      throw new Error(`it unpacks to more than ${bytesMax} bytes, which is the most that is read`);
    throw new Error(`it is no whole gzip file: ${(error as Error).message}`);
  }
}
