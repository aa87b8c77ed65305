import { describe, expect, it } from 'vitest';
import { createFakeClock } from '../../test/setup/clock.ts';
import { applyRate, createRateLimiter } from './rate-limit.ts';

const rule = { count: 3, windowMs: 60_000 };

describe('createRateLimiter()', () => {
  it('lets the count through at once, then one for each share of the window', () => {
    const clock = createFakeClock();
    const limiter = createRateLimiter(rule, clock);
    expect([1, 2, 3, 4].map(() => limiter.take('a').allowed)).toEqual([true, true, true, false]);
    clock.advance(19_999);
    expect(limiter.take('a').allowed).toBe(false);
    clock.advance(1);
    expect(limiter.take('a').allowed).toBe(true);
    expect(limiter.take('a').allowed).toBe(false);
    clock.advance(3_600_000);
    expect(limiter.take('a')).toMatchObject({ allowed: true, remaining: 2 });
  });

  it('counts each caller alone, and a look costs nothing', () => {
    const limiter = createRateLimiter(rule, createFakeClock());
    for (let n = 0; n < 3; n += 1) limiter.take('a');
    expect(limiter.peek('a').allowed).toBe(false);
    for (let n = 0; n < 10; n += 1) expect(limiter.peek('b').remaining).toBe(3);
    limiter.reset('a');
    expect(limiter.take('a').allowed).toBe(true);
  });

  it('forgets the least recently used caller when there are too many', () => {
    const limiter = createRateLimiter({ count: 1, windowMs: 1_000 }, createFakeClock(), 2);
    limiter.take('a');
    limiter.take('b');
    limiter.take('a'); // refused, and used
    limiter.take('c'); // b goes
    expect(limiter.peek('a').allowed).toBe(false);
    expect(limiter.peek('b').allowed).toBe(true);
  });
});

describe('applyRate()', () => {
  it('says what is left, and refuses with the time to wait', () => {
    const limiter = createRateLimiter(rule, createFakeClock());
    const headers = new Map<string, string>();
    applyRate({ name: 'default', rule }, limiter.take('a'), headers);
    expect(Object.fromEntries(headers)).toEqual({
      'ratelimit-policy': '"default";q=3;w=60',
      ratelimit: '"default";r=2;t=20',
    });
    limiter.take('a');
    limiter.take('a');
    expect(() => applyRate({ name: 'default', rule }, limiter.take('a'), headers)).toThrow(
      'more than 3 calls in 60 s; try again in 20 s',
    );
    expect(headers.get('ratelimit')).toBe('"default";r=0;t=20');
  });
});
