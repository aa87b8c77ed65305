import { describe, expect, it } from 'vitest';
import { encodeCrockford, newId, uuidv7Bytes } from './ids.ts';

describe('newId()', () => {
  it('is a prefix and 26 characters without confusable letters', () => {
    expect(newId('run')).toMatch(/^run_[0-7][0-9a-hjkmnp-tv-z]{25}$/);
  });

  it('sorts by time of creation', () => {
    const ids = [0, 1, 1_000, 1_700_000_000_000, 2 ** 48 - 1].map((ms) => newId('run', ms));
    expect(ids.toSorted()).toEqual(ids);
  });

  it('sorts by creation also within a millisecond', () => {
    const ids = Array.from({ length: 2_000 }, () => newId('run', 2));
    expect(ids.toSorted()).toEqual(ids);
  });

  it('does not repeat within a millisecond', () => {
    expect(new Set(Array.from({ length: 50_000 }, () => newId('run', 1))).size).toBe(50_000);
  });
});

describe('uuidv7Bytes()', () => {
  it('has time, version and variant where RFC 9562 wants them', () => {
    const hex = Buffer.from(uuidv7Bytes(0x017f22e279b0)).toString('hex'); // the RFC's own example time
    expect(hex).toMatch(/^017f22e279b07[0-9a-f]{3}[89ab][0-9a-f]{15}$/);
  });
});

describe('encodeCrockford()', () => {
  it('writes 128 bits as 26 digits', () => {
    expect(encodeCrockford(new Uint8Array(16))).toBe('0'.repeat(26));
    expect(encodeCrockford(new Uint8Array(16).fill(255))).toBe(`7${'z'.repeat(25)}`);
    expect(encodeCrockford(Uint8Array.from({ length: 16 }, (_, n) => (n === 15 ? 33 : 0)))).toBe(
      `${'0'.repeat(24)}11`,
    );
  });
});
