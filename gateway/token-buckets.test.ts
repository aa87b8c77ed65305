import { describe, expect, it } from 'vitest';
import { TokenBuckets } from './token-buckets.ts';

let nowMs = 0;
const clock = { now: () => new Date(nowMs), monotonicMs: () => nowMs };

describe('TokenBuckets', () => {
  it('lets a burst through, then one call for each token that comes back', () => {
    const buckets = new TokenBuckets(clock, { perSecond: 2, burst: 3 });
    expect([1, 2, 3].map(() => buckets.take('a'))).toEqual([0, 0, 0]);
    expect(buckets.take('a')).toBe(500);
    expect(buckets.waitMs('a')).toBe(500);
    nowMs += 500;
    expect(buckets.waitMs('a')).toBe(0);
    expect(buckets.take('a')).toBe(0);
    expect(buckets.take('a')).toBe(500);
  });

  it('keeps keys apart and never holds more than the burst', () => {
    const buckets = new TokenBuckets(clock, { perSecond: 10, burst: 1 });
    expect(buckets.take('a')).toBe(0);
    expect(buckets.take('b')).toBe(0);
    nowMs += 60_000;
    expect(buckets.take('a')).toBe(0);
    expect(buckets.take('a')).toBe(100);
  });
});
