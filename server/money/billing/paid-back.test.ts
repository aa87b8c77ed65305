/** Tests which part of a payment that went back is no tax. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { payableStep } from '../amounts/index.ts';
import { partOf } from './paid-back.ts';

describe('partOf()', () => {
  it('is the nearest amount that can be paid', () => {
    const dinars = { amountCents: 5_120, totalCents: 5_480, currency: 'kwd' };
    expect([10, 100, 2_740, 5_480].map((cents) => partOf(cents, dinars))).toEqual([10, 90, 2_560, 5_120]);
    expect(partOf(3_001, { amountCents: 5_000, totalCents: 6_000, currency: 'usd' })).toBe(2_501);
  });

  it('is all of it in the end, and never less for more', () => {
    const steps = fc.integer({ min: 1, max: 100_000 });
    fc.assert(
      fc.property(fc.constantFrom('usd', 'kwd', 'isk'), steps, steps, steps, (currency, paid, tax, back) => {
        const step = payableStep(currency);
        const [amountCents, totalCents] = [paid * step, (paid + tax) * step];
        const of = { amountCents, totalCents, currency };
        const given = Math.min(back * step, totalCents);
        const part = partOf(given, of);
        expect(part % step).toBe(0);
        expect(part).toBeLessThanOrEqual(partOf(totalCents, of));
        expect(partOf(given - step, of)).toBeLessThanOrEqual(part);
        expect(partOf(totalCents, of)).toBe(amountCents);
      }),
    );
  });
});
