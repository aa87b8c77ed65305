/** Names of requests. Ours are UUIDv7 in Crockford base32, so they sort by time like every other id. */
import { randomFillSync } from 'node:crypto';

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
/** Random bytes are fetched for many ids at a time: one system call for each would cost more than the rest of the request head. */
const pool = Buffer.alloc(4096);
let used = pool.length;

export type NewRequestId = () => string;

/** `req_` and 26 characters. */
export function newRequestId(): string {
  if (used + 10 > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const nowMs = Date.now();
  // Version 7 and variant 2, as RFC 9562 puts them.
  const high = 0x7000 | (pool.readUInt16BE(used) & 0x0fff);
  const low = pool.readUInt16BE(used + 2) & 0x3fff;
  const bytes = [
    Math.floor(nowMs / 2 ** 40) & 0xff,
    Math.floor(nowMs / 2 ** 32) & 0xff,
    (nowMs >>> 24) & 0xff,
    (nowMs >>> 16) & 0xff,
    (nowMs >>> 8) & 0xff,
    nowMs & 0xff,
    high >> 8,
    high & 0xff,
    0x80 | (low >> 8),
    low & 0xff,
    ...pool.subarray(used + 4, used + 10),
  ];
  used += 10;
  return `req_${base32(bytes)}`;
}

/** 128 bits as 26 digits of 5 bits, the first of them 3 bits. */
function base32(bytes: readonly number[]): string {
  let text = '';
  let value = 0;
  // Two zero bits in front make 130.
  let bits = 2;
  for (const byte of bytes) {
    value = (value << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += ALPHABET.charAt((value >> bits) & 31);
    }
    value &= (1 << bits) - 1;
  }
  return text;
}

const SANE = /^[A-Za-z0-9][A-Za-z0-9._-]{7,127}$/;

/** The caller's own id when it is short and plain enough for logs and headers, else a new one. */
export function requestIdOf(inbound: string | undefined): string {
  return inbound !== undefined && SANE.test(inbound) ? inbound : newRequestId();
}
