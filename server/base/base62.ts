/** Random secrets are written in digits and letters alone, so that a double click selects all of one. */
import { randomBytes } from 'node:crypto';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** The result is uniform: bytes of 248 and more are thrown away, because 256 is no multiple of 62. */
export function randomBase62(length: number): string {
  let out = '';
  while (out.length < length) {
    for (const byte of randomBytes(length * 2)) {
      if (byte < 248 && out.length < length) out += ALPHABET[byte % 62];
    }
  }
  return out;
}

/** Writes a number below 62^width as exactly `width` characters. */
export function encodeBase62(value: number, width: number): string {
  let out = '';
  for (let rest = value, place = 0; place < width; place += 1, rest = Math.floor(rest / 62))
    out = `${ALPHABET[rest % 62]}${out}`;
  return out;
}
