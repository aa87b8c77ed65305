import { describe, expect, it } from 'vitest';
import { NonceWindow } from './nonce-window.ts';
import { ShiftedClock } from './testing/shifted-clock.ts';

describe('NonceWindow', () => {
  it('takes each pair of key and nonce once while its signature can be valid, and forgets it later', () => {
    const clock = new ShiftedClock();
    const nonces = new NonceWindow(clock);
    expect(nonces.add('key', 'nonce')).toBe(true);
    expect(nonces.add('key', 'nonce')).toBe(false);
    expect(nonces.add('other', 'nonce')).toBe(true);
    clock.advance(149_000);
    expect(nonces.add('key', 'nonce')).toBe(false);
    clock.advance(2_000);
    expect(nonces.add('key', 'nonce')).toBe(false);
    clock.advance(151_000);
    nonces.add('key', 'third');
    clock.advance(151_000);
    expect(nonces.add('key', 'nonce')).toBe(true);
  });
});
