/** Days that stand out, and those that do not. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addDays } from '../metering/index.ts';
import { anomalyOn, baselineOf, type Series } from './anomaly.ts';

const UNIT = 10n ** 12n;
const FIRST = '2026-08-03'; // A Monday.
const day = (n: number): string => addDays(FIRST, n);
/** Makes costs of day after day, in major units. */
const series = (units: readonly number[]): Series => ({
  firstDay: FIRST,
  days: new Map(units.map((each, n) => [day(n), BigInt(Math.round(each * 1_000)) * (UNIT / 1_000n)])),
});
const isWeekend = (n: number): boolean => n % 7 >= 5;
/** This makes days that cost ten, at weekends one, with a little noise. */
const week = (length: number, more: Readonly<Record<number, number>> = {}): Series =>
  series(Array.from({ length }, (_day, n) => more[n] ?? (isWeekend(n) ? 1 : 10) + (n % 3) / 10));
const flagged = (of: Series, length: number, threshold = 50): number[] =>
  Array.from({ length }, (_day, n) => n).filter((n) => anomalyOn(of, day(n), threshold) !== undefined);

describe('an anomaly', () => {
  it('is measured by its weekday: weekends do not alarm, and a Saturday like a Monday does', () => {
    expect(flagged(week(70), 70)).toEqual([]);
    const saturday = 61;
    const loud = week(70, { [saturday]: 10 });
    expect(flagged(loud, 70)).toEqual([saturday]);
    expect(anomalyOn(loud, day(saturday), 50)).toMatchObject({
      day: day(saturday),
      actual: 10n * UNIT,
      expected: (11n * UNIT) / 10n,
      deviationPct: 809,
      samples: [54, 47, 40, 33, 26, 19, 12, 5].map(day),
    });
  });

  it('is no day after one, and hides no second one', () => {
    expect(flagged(week(70, { 58: 100, 65: 100 }), 70)).toEqual([58, 65]);
  });

  it('is above the threshold, in percent of what is expected', () => {
    const loud = week(70, { 63: 16 });
    expect(flagged(loud, 70, 50)).toEqual([63]);
    expect(flagged(loud, 70, 60)).toEqual([]);
    expect(flagged(week(70, { 63: 10_000 }), 70, 10_000)).toEqual([63]);
  });

  it('is beyond three times the usual spread', () => {
    const wild = series(Array.from({ length: 70 }, (_day, n) => (Math.floor(n / 7) % 2 === 0 ? 5 : 15)));
    const on = (units: bigint) => ({ ...wild, days: new Map([...wild.days, [day(69), units * UNIT]]) });
    // The bound is three times 1.4826 times 5 above 10.
    expect(anomalyOn(on(32n), day(69), 50)).toBeUndefined();
    expect(anomalyOn(on(33n), day(69), 50)).toMatchObject({ expected: 10n * UNIT, deviation: 5n * UNIT });
  });

  it('is one major unit more at least', () => {
    const small = (last: number): Series => series([...Array.from({ length: 69 }, () => 0.1), last]);
    expect(anomalyOn(small(1.099), day(69), 50)).toBeUndefined();
    expect(anomalyOn(small(1.1), day(69), 50)).toBeDefined();
  });

  it('has no percentage where nothing was expected: days without usage are 0', () => {
    const quiet: Series = {
      firstDay: FIRST,
      days: new Map([
        [FIRST, UNIT],
        [day(40), 5n * UNIT],
      ]),
    };
    const found = anomalyOn(quiet, day(40), 50)!;
    expect(found).toMatchObject({ expected: 0n, actual: 5n * UNIT });
    expect(found.deviationPct).toBeUndefined();
  });

  it('takes the last fourteen days while there are less than three of the weekday, and nothing in the first week', () => {
    const young = week(30, { 6: 100, 12: 100 });
    expect(anomalyOn(young, day(6), 50)).toBeUndefined();
    expect(anomalyOn(young, day(12), 50)!.samples).toEqual([11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0].map(day));
    expect(baselineOf(young, day(21))!.samples).toEqual([14, 7, 0].map(day));
    expect(baselineOf(young, day(20))!.samples).toHaveLength(14);
  });

  it('is never in a constant series, of whatever height and length', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 0n, max: 10n ** 24n }),
        fc.integer({ min: 1, max: 120 }),
        fc.integer({ min: 1, max: 10_000 }),
        (cost, length, threshold) => {
          const days = new Map(Array.from({ length }, (_day, n) => [day(n), cost]));
          for (let n = 0; n < length; n += 1)
            expect(anomalyOn({ firstDay: FIRST, days }, day(n), threshold)).toBeUndefined();
        },
      ),
    );
  });

  it('is never in a series that repeats its week', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 10_000 }), { minLength: 7, maxLength: 7 }), (units) => {
        const repeating = series(Array.from({ length: 70 }, (_day, n) => units[n % 7]!));
        // From the fourth week on each weekday has been there three times.
        expect(flagged(repeating, 70).filter((n) => n >= 21)).toEqual([]);
      }),
    );
  });
});
