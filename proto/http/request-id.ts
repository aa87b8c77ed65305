/** Makes names of requests. Ours are UUIDv7 in Crockford base32, so they sort by time like every other id. */
import { randomFillSync } from 'node:crypto';

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
/** Two digits at once: 10 bits. Text that grows digit by digit was the largest garbage of a small GET. */
const PAIRS: readonly string[] = Array.from(
  { length: 1024 },
  (_, bits) => ALPHABET.charAt(bits >> 5) + ALPHABET.charAt(bits & 31),
);
/**
 * Random bytes are fetched for many ids at a time: one system call for each would cost more than the rest of
 * the request head.
 */
const pool = Buffer.alloc(4000);
const RANDOM_BYTES = 10;
let used = pool.length;

/** Text that all ids of one millisecond begin with. */
let lastMs = -1;
let lastStart = '';

/** Makes `req_` and 26 characters: 128 bits as 26 digits of 5 bits, with two zero bits in front. */
export function newRequestId(): string {
  const nowMs = Date.now();
  if (nowMs !== lastMs) {
    lastMs = nowMs;
    lastStart = `req_${timeText(nowMs)}`;
  }
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  // Version 7 and variant 2, as RFC 9562 puts them.
  pool[used] = 0x70 | (pool[used]! & 0x0f);
  pool[used + 2] = 0x80 | (pool[used + 2]! & 0x3f);
  const id = lastStart + fortyBits(used) + fortyBits(used + 5);
  used += RANDOM_BYTES;
  return id;
}

/** Writes 48 bits of milliseconds behind the two zero bits. */
function timeText(nowMs: number): string {
  const high = Math.floor(nowMs / 2 ** 30);
  const low = nowMs % 2 ** 30;
  return `${PAIRS[high >> 10]}${PAIRS[high & 1023]}${PAIRS[low >> 20]}${PAIRS[(low >> 10) & 1023]}${PAIRS[low & 1023]}`;
}

/** Writes five bytes of the pool as eight digits. */
function fortyBits(at: number): string {
  const b = pool[at + 1]!;
  const c = pool[at + 2]!;
  const d = pool[at + 3]!;
  const first = PAIRS[(pool[at]! << 2) | (b >> 6)]! + PAIRS[((b & 63) << 4) | (c >> 4)]!;
  return first + PAIRS[((c & 15) << 6) | (d >> 2)]! + PAIRS[((d & 3) << 8) | pool[at + 4]!]!;
}

const SANE = /^[A-Za-z0-9][A-Za-z0-9._-]{7,127}$/;

/** Returns the caller's own id when it is short and plain enough for logs and headers, else a new one. */
export function requestIdOf(inbound: string | undefined): string {
  return inbound !== undefined && SANE.test(inbound) ? inbound : newRequestId();
}
