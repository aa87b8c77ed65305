import { afterEach, describe, expect, it, vi } from 'vitest';
import { newRequestId, requestIdOf } from './request-id.ts';

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

/** It returns the 128 bits behind the prefix, in hexadecimal. */
function hexOf(id: string): string {
  const digits = Array.from(id.slice('req_'.length));
  const value = digits.reduce((sum, digit) => sum * 32n + BigInt(ALPHABET.indexOf(digit)), 0n);
  return value.toString(16).padStart(32, '0');
}

describe('newRequestId()', () => {
  afterEach(() => void vi.useRealTimers());

  it.each([0, 1, 2 ** 30 - 1, 2 ** 30, 1_795_190_400_123, 2 ** 48 - 1])(
    'is a UUIDv7 of the millisecond %s',
    (nowMs) => {
      vi.useFakeTimers({ now: nowMs, toFake: ['Date'] });
      for (let n = 0; n < 1_000; n += 1) {
        const id = newRequestId();
        expect(id).toMatch(/^req_[0-7][0-9a-hjkmnp-tv-z]{25}$/);
        const hex = hexOf(id);
        expect(Number.parseInt(hex.slice(0, 12), 16), id).toBe(nowMs);
        expect([hex[12], '89ab'.includes(hex[16] ?? '')], id).toEqual(['7', true]);
      }
    },
  );

  it('is never the same twice, over many refills of the random bytes', () => {
    const ids = Array.from({ length: 10_000 }, newRequestId);
    expect(new Set(ids).size).toBe(ids.length);
    // Each digit that is random varies, the one that holds the variant in 3 of its 5 bits.
    for (let place = 15; place < 30; place += 1)
      expect(new Set(ids.map((id) => id[place])).size, `digit ${place}`).toBeGreaterThanOrEqual(8);
  });
});

describe('requestIdOf()', () => {
  it.each(['abc-1234', 'req_01h455vb4pex5vsknk084sn02q', 'A'.repeat(128)])(
    'keeps the caller’s own %s',
    (id) => {
      expect(requestIdOf(id)).toBe(id);
    },
  );

  it.each([undefined, '', 'short', '-leading-dash', 'a b c d e f', 'a'.repeat(129), 'line\nbreak1'])(
    'makes a new one for %j',
    (id) => {
      expect(requestIdOf(id)).toMatch(/^req_/);
    },
  );
});
