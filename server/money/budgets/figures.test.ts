/** Percent, state and whole cents. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { minorUnit } from '../amounts/index.ts';
import { isExceeded, passed, percentOf, stateOf, wholeCents } from './figures.ts';

describe('percentOf()', () => {
  it('is rounded down to one decimal: never 100 before all is spent', () => {
    const [pico, limit] = [
      fc.bigInt({ min: 0n, max: 10n ** 22n }),
      fc.bigInt({ min: 10n ** 10n, max: 10n ** 21n }),
    ];
    fc.assert(
      fc.property(pico, limit, (spent, all) => {
        const percent = percentOf(spent, all);
        const tenths = BigInt(Math.round(percent * 10));
        expect(tenths * all <= spent * 1_000n && spent * 1_000n < (tenths + 1n) * all).toBe(true);
        expect(isExceeded(percent)).toBe(spent >= all);
        const state = spent >= all ? 'exceeded' : spent * 100n >= all * 80n ? 'warning' : 'ok';
        const of = { percentUsed: percent, refusesAll: false };
        expect(stateOf({ ...of, enabled: true })).toBe(state);
        expect(stateOf({ ...of, enabled: false })).toBe('disabled');
        expect(passed(percent)).toEqual([50n, 80n, 100n].filter((t) => spent * 100n >= all * t).map(Number));
      }),
    );
  });

  it('of a limit of 0 is 0, or 100 once anything is spent', () => {
    expect([percentOf(0n, 0n), percentOf(1n, 0n), percentOf(10n ** 30n, 0n)]).toEqual([0, 100, 100]);
  });
});

describe('wholeCents()', () => {
  it('takes every amount that is whole in minor units, and no other', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 10 ** 11 }),
        fc.constantFrom('usd', 'jpy', 'kwd'),
        (cents, currency) => {
          const units = Number(10n ** 12n / minorUnit(currency));
          fc.pre(cents <= 10 ** 9 * units);
          const text = (cents / units).toFixed(units.toString().length - 1);
          expect(wholeCents(Number(text), currency)).toBe(cents);
          expect(wholeCents(Number(`${text}${units === 1 ? '.' : ''}5`), currency)).toBeUndefined();
        },
      ),
    );
    expect(Object.is(wholeCents(-0, 'usd'), 0)).toBe(true);
    expect(wholeCents(Number.MIN_VALUE, 'usd')).toBeUndefined();
  });
});
