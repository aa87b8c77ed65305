import { describe, expect, it } from 'vitest';
import { networkOf, TokenBuckets } from './token-buckets.ts';

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

describe('networkOf()', () => {
  it('is the address itself for IPv4 and the /64 for IPv6', () => {
    expect(networkOf('192.0.2.1')).toBe('192.0.2.1');
    for (const address of [
      '2001:DB8:0:1::1',
      '2001:db8::1:0:0:0:9',
      '2001:0db8:0000:0001:ffff:1:2:3',
      '2001:db8:0:1:a::%eth0',
    ]) {
      expect([address, networkOf(address)]).toEqual([address, '2001:db8:0:1']);
    }
    expect(networkOf('::1')).toBe('0:0:0:0');
    expect(networkOf('fe80::1')).toBe('fe80:0:0:0');
  });
});
