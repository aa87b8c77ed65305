/** Pooled time is exact: what plans include in proportion to their seconds, cut once. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { poolMs } from './included.ts';

describe('poolMs()', () => {
  it('is what fractions say, to the millisecond, whatever the history of a month is', () => {
    const SECONDS = 31 * 86_400;
    const history = fc.array(
      fc.record({
        plan: fc.constantFrom('free', 'team', 'business'),
        second: fc.integer({ min: 0, max: SECONDS - 1 }),
      }),
      { minLength: 1, maxLength: 40 },
    );
    const included: Readonly<Record<string, bigint>> = {
      free: 0n,
      team: 600_000_000n,
      business: 3_000_000_000n,
    };
    fc.assert(
      fc.property(history, (changes) => {
        const sorted = changes.toSorted((a, b) => a.second - b.second);
        const sum = sorted.reduce((total, { plan, second }, n) => {
          const until = sorted[n + 1]?.second ?? SECONDS;
          return total + included[plan]! * BigInt(until - second);
        }, 0n);
        const exact = sum / BigInt(SECONDS);
        const given = sorted.map(({ plan, second }) => ({
          plan,
          fromAt: new Date(Date.parse('2026-10-01T00:00:00Z') + second * 1_000),
        }));
        expect(poolMs('2026-10-01', given)).toBe(Math.max(120_000_000, Number(exact)));
      }),
      { numRuns: 2_000 },
    );
  });

  it('of a whole month in many parts of one plan is the whole of it', () => {
    const parts = Array.from({ length: 700 }, (_part, n) => ({
      plan: 'team',
      fromAt: new Date(Date.parse('2026-10-01T00:00:00Z') + n * 3_571_000),
    }));
    expect(poolMs('2026-10-01', parts)).toBe(600_000_000);
  });
});
