/**
 * An id is `<prefix>_<26 characters>`, a UUIDv7 in Crockford base32, lower-case. They sort by time of
 * creation, to the millisecond; within it those of one process do that are made without one of another
 * millisecond between them. They never contain `:`. Secrets are never made here: an id is public.
 */
import { randomBytes } from 'node:crypto';
import { encodeBase32 } from './base32.ts';

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const POOL_BYTES = 4096;
let pool = randomBytes(POOL_BYTES);
let used = 0;

function takeRandom(into: Uint8Array, from: number): void {
  const length = into.length - from;
  if (used + length > POOL_BYTES) {
    pool = randomBytes(POOL_BYTES);
    used = 0;
  }
  into.set(pool.subarray(used, used + length), from);
  used += length;
}

/** Writes 128 bits as 26 characters, of which the first one carries three bits. */
export function encodeCrockford(bytes: Uint8Array): string {
  return encodeBase32(bytes, ALPHABET, 2); // 130 bits of text for 128 of value: the two on top are zero.
}

const COUNTER_MAX = 0xfff;
let countedMs = Number.NaN;
let counter = 0;

/**
 * Begins anew in each millisecond, at random in the lower half. Beyond the last one (2,048 ids in a
 * millisecond) only their order is lost.
 */
function nextCount(nowMs: number, random: number): number {
  counter = nowMs === countedMs ? Math.min(counter + 1, COUNTER_MAX) : random & (COUNTER_MAX >> 1);
  countedMs = nowMs;
  return counter;
}

/**
 * Makes a UUIDv7 (RFC 9562, method 1): 48 bits of milliseconds, version, a counter of 12 bits, 62 random
 * bits.
 */
export function uuidv7Bytes(nowMs: number): Uint8Array {
  const bytes = new Uint8Array(16);
  takeRandom(bytes, 6);
  const count = nextCount(nowMs, (bytes[6]! << 8) | bytes[7]!);
  const high = Math.floor(nowMs / 0x1_0000_0000);
  const low = nowMs >>> 0;
  bytes[0] = (high >> 8) & 0xff;
  bytes[1] = high & 0xff;
  bytes[2] = low >>> 24;
  bytes[3] = (low >>> 16) & 0xff;
  bytes[4] = (low >>> 8) & 0xff;
  bytes[5] = low & 0xff;
  bytes[6] = 0x70 | (count >> 8);
  bytes[7] = count & 0xff;
  bytes[8] = 0x80 | (bytes[8]! & 0x3f);
  return bytes;
}

/**
 * The beginning of ids that a statement makes for several rows at once: the time, in 10 characters. The
 * statement appends 16 characters of a random UUID: `${idHead('evt')} ||
 * substr(replace(gen_random_uuid()::text, '-', ''), 17, 16)`.
 */
export function idHead(prefix: string): string {
  return newId(prefix).slice(0, prefix.length + 11);
}

export function newId(prefix: string, nowMs: number = Date.now()): string {
  return `${prefix}_${encodeCrockford(uuidv7Bytes(nowMs))}`;
}
