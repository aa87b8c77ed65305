/** Rounding, and parts that sum. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  centsOf,
  decimalOf,
  decimalsOf,
  minorUnit,
  moneyOf,
  payableOf,
  payablePart,
  payableStep,
  shared,
} from './index.ts';

describe('an amount', () => {
  it('is a decimal text of twelve places', () => {
    expect([0n, 1n, -1n, 999_999_999_999n, 10n ** 12n, 2_147_483_647n * 10n ** 9n].map(decimalOf)).toEqual([
      '0.000000000000',
      '0.000000000001',
      '-0.000000000001',
      '0.999999999999',
      '1.000000000000',
      '2147483.647000000000',
    ]);
  });

  it('is rounded to minor units once, half away from zero', () => {
    const cent = 10n ** 10n;
    const near = [cent / 2n - 1n, cent / 2n, (cent * 3n) / 2n, -cent / 2n, -cent / 2n + 1n];
    expect(near.map((pico) => centsOf(pico, 'usd'))).toEqual([0, 1, 2, -1, -0]);
    expect(centsOf(15n * 10n ** 11n, 'jpy')).toBe(2);
    expect(centsOf(15n * 10n ** 8n, 'kwd')).toBe(2);
  });

  it('has the decimals of the provider, also where Intl says otherwise', () => {
    expect(['usd', 'huf', 'cop', 'isk', 'jpy', 'krw', 'kwd'].map(decimalsOf)).toEqual([2, 2, 2, 2, 0, 0, 3]);
  });
});

describe('shared()', () => {
  it('gives the greatest remainders what is left, and equal ones by their keys', () => {
    const shares = ['c', 'a', 'b'].map((key) => ({ key, weight: 1n }));
    expect(shared(100, shares)).toEqual([33, 34, 33]);
    expect(shared(-100, shares)).toEqual([-33, -34, -33]);
    expect(shared(7, [])).toEqual([]);
    expect(shared(7, [{ key: 'a', weight: 0n }])).toEqual([0]);
  });

  it('sums to the whole, nobody one or more from the exact share', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 10 ** 12 }),
        fc.array(fc.bigInt({ min: 0n, max: 10n ** 20n }), { minLength: 1, maxLength: 40 }),
        (whole, weights) => {
          const total = weights.reduce((sum, weight) => sum + weight, 0n);
          fc.pre(total > 0n);
          const parts = shared(
            whole,
            weights.map((weight, n) => ({ key: String(n), weight })),
          );
          expect(parts.reduce((sum, part) => sum + part, 0)).toBe(whole);
          parts.forEach((part, n) => {
            const off = BigInt(part) * total - BigInt(whole) * weights[n]!;
            expect(off < total && off > -total).toBe(true);
          });
        },
      ),
    );
  });
});

describe('moneyOf()', () => {
  it('has the decimals of the currency', () => {
    expect([moneyOf(1_234, 'usd'), moneyOf(1_234, 'jpy'), moneyOf(1_234, 'kwd')]).toEqual([
      '12.34 USD',
      '1234 JPY',
      '1.234 KWD',
    ]);
  });

  it.each([
    ['usd', '0.30 USD', '-2910.27 USD', '90071992547409.93 USD'],
    ['eur', '0.30 EUR', '-2910.27 EUR', '90071992547409.93 EUR'],
    ['jpy', '30 JPY', '-291027 JPY', '9007199254740993 JPY'],
    ['krw', '30 KRW', '-291027 KRW', '9007199254740993 KRW'],
    ['kwd', '0.030 KWD', '-291.027 KWD', '9007199254740.993 KWD'],
    ['bhd', '0.030 BHD', '-291.027 BHD', '9007199254740.993 BHD'],
    ['ugx', '0.30 UGX', '-2910.27 UGX', '90071992547409.93 UGX'],
  ])('shows all decimals of %s, of small, negative and large amounts', (currency, small, negative, large) => {
    expect([30, -291_027, 2n ** 53n + 1n].map((cents) => moneyOf(cents, currency))).toEqual([
      small,
      negative,
      large,
    ]);
  });
});

describe('payableOf()', () => {
  it('is the nearest amount that can be paid, half of a step away from zero', () => {
    const fils = 10n ** 9n;
    const near = [291_024n, 291_025n, -291_025n, 4n, 5n].map((each) => payableOf(each * fils, 'kwd'));
    expect(near).toEqual([291_020, 291_030, -291_030, 0, 10]);
    expect(payableOf(495n * 10n ** 9n, 'isk')).toBe(0);
    expect(payableOf(5n * 10n ** 11n, 'isk')).toBe(100);
  });

  it('is never more than half of a step from the exact amount', () => {
    const amount = fc.bigInt({ min: -(10n ** 21n), max: 10n ** 21n });
    fc.assert(
      fc.property(fc.constantFrom('usd', 'jpy', 'kwd', 'tnd', 'isk', 'ugx'), amount, (currency, pico) => {
        const cents = payableOf(pico, currency);
        const step = payableStep(currency);
        expect(Math.abs(cents % step)).toBe(0);
        const off = BigInt(cents) * minorUnit(currency) - pico;
        expect((off < 0n ? -off : off) * 2n <= minorUnit(currency) * BigInt(step)).toBe(true);
        if (step === 1) expect(cents).toBe(centsOf(pico, currency));
      }),
    );
  });

  it('leaves less than a step', () => {
    expect([
      payablePart(129, 'kwd'),
      payablePart(9, 'kwd'),
      payablePart(199, 'isk'),
      payablePart(7, 'usd'),
    ]).toEqual([120, 0, 100, 7]);
  });
});

describe('payableStep()', () => {
  it('is what Stripe takes payments of', () => {
    expect(['usd', 'jpy', 'kwd', 'bhd', 'isk', 'ugx', 'huf', 'twd'].map(payableStep)).toEqual([
      1, 1, 10, 10, 100, 100, 1, 1,
    ]);
  });
});
