import { describe, expect, it } from 'vitest';
import { nextDelayMs, unservedDelayMs } from './backoff.ts';

describe('nextDelayMs()', () => {
  it('retries at once, then spreads over a growing time up to a minute', () => {
    const ceiling = { random: () => 1 };
    expect([1, 2, 3, 4, 8, 9, 100].map((failures) => nextDelayMs(failures, undefined, ceiling))).toEqual([
      0, 1_000, 2_000, 4_000, 60_000, 60_000, 60_000,
    ]);
    expect(nextDelayMs(5, undefined, { random: () => 0 })).toBe(0);
  });

  it('never undercuts what the server asked for, and does not let it ask for hours', () => {
    expect(nextDelayMs(1, 3_000, { random: () => 0 })).toBe(3_000);
    expect(nextDelayMs(9, 3_000, { random: () => 1 })).toBe(4_000);
    expect(nextDelayMs(1, 86_400_000, { random: () => 0 })).toBe(300_000);
  });
});

describe('unservedDelayMs()', () => {
  it('spreads over 5 s to a growing time up to a minute, and is never shorter', () => {
    const delays = (random: number) =>
      [1, 2, 3, 4, 5, 100].map((failures) => unservedDelayMs(failures, { random: () => random }));
    expect(delays(1)).toEqual([10_000, 20_000, 40_000, 60_000, 60_000, 60_000]);
    expect(delays(0)).toEqual([5_000, 5_000, 5_000, 5_000, 5_000, 5_000]);
  });
});
