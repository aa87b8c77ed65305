import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRateLimiter, rateHeaders, rateLimited } from './rate-limit.ts';

function limiterAt(quota: number, windowMs: number, keysMax?: number) {
  const clock = { ms: 0 };
  const limiter = createRateLimiter(
    { name: 'test', quota, windowMs },
    { nowMs: () => clock.ms, ...(keysMax !== undefined && { keysMax }) },
  );
  return { clock, limiter };
}

describe('createRateLimiter()', () => {
  it('allows the quota at once, then one at a time as tokens come back', () => {
    const { clock, limiter } = limiterAt(3, 3000);
    expect([1, 2, 3].map(() => limiter.take('a').allowed)).toEqual([true, true, true]);
    expect(limiter.take('a')).toEqual({ allowed: false, remaining: 0, resetMs: 3000, retryAfterMs: 1000 });
    clock.ms = 999;
    expect(limiter.take('a').allowed).toBe(false);
    clock.ms = 1000;
    expect(limiter.take('a').allowed).toBe(true);
    expect(limiter.take('b').remaining).toBe(2);
  });

  it('never allows more than the quota plus what comes back, whatever the order of calls', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(400), { maxLength: 200 }), (gaps) => {
        const { clock, limiter } = limiterAt(5, 1000);
        let allowed = 0;
        for (const gap of gaps) {
          clock.ms += gap;
          if (limiter.take('a').allowed) allowed++;
        }
        expect(allowed).toBeLessThanOrEqual(5 + (clock.ms * 5) / 1000 + 1e-6);
      }),
    );
  });

  it('is exact about when to come back', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 50 }),
        fc.integer({ min: 1, max: 100_000 }),
        fc.nat(1000),
        (quota, windowMs, gap) => {
          const { clock, limiter } = limiterAt(quota, windowMs);
          for (let i = 0; i < quota; i++) limiter.take('a');
          clock.ms = gap / 1000;
          const refused = limiter.take('a');
          fc.pre(!refused.allowed);
          clock.ms += refused.retryAfterMs;
          expect(limiter.take('a').allowed).toBe(true);
        },
      ),
    );
  });

  it('remembers a bounded number of keys, the recent ones', () => {
    const { limiter } = limiterAt(1, 1000, 3);
    for (const key of ['a', 'b', 'c']) limiter.take(key);
    limiter.take('a');
    limiter.take('d');
    expect(limiter.size).toBe(3);
    expect(limiter.take('a').allowed).toBe(false);
    expect(limiter.take('b').allowed).toBe(true);
  });

  it('refuses a policy that allows nothing', () => {
    expect(() => createRateLimiter({ name: 'x', quota: 0, windowMs: 1 })).toThrow('must be positive');
  });
});

describe('rateHeaders() and rateLimited()', () => {
  it('speak the draft for rate limit headers', () => {
    const { limiter } = limiterAt(2, 60_000);
    limiter.take('a');
    expect(rateHeaders(limiter.policy, limiter.take('a'))).toEqual({
      'ratelimit-policy': '"test";q=2;w=60',
      ratelimit: '"test";r=0;t=60',
    });
    const error = rateLimited(limiter.policy, limiter.take('a'));
    expect([error.status, error.retryable, error.retryAfterMs, error.details]).toEqual([
      429,
      true,
      30_000,
      { limit: 'test', quota: 2, windowSeconds: 60 },
    ]);
    expect(error.headers?.['ratelimit']).toBe('"test";r=0;t=60');
  });
});
