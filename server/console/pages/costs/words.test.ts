import { describe, expect, it } from 'vitest';
import { amount, day, month, ofCents, partName, time } from './words.ts';

describe('amounts', () => {
  it('show cents, and of less than a unit what says something', () => {
    expect(
      ['12.345600000000', '0.000910000000', '0.000000000000', '1234.5'].map((text) => amount(text, 'usd')),
    ).toEqual(['$12.35', '$0.00091', '$0.00', '$1,234.50']);
    expect(
      [
        { currency: 'usd', decimals: 2 },
        { currency: 'jpy', decimals: 0 },
      ].map((of) => ofCents(1_234, of)),
    ).toEqual(['$12.34', '¥1,234']);
  });
});

describe('time()', () => {
  it('is as exact as people need it', () => {
    expect([3.4, 150, 5_400, 360_000].map(time)).toEqual(['3 s', '3 min', '1.5 h', '100 h']);
  });
});

describe('names', () => {
  it('of months and days are those of UTC', () => {
    expect([month('2026-11'), month('2026-11-01'), day('2026-11-26')]).toEqual([
      'November 2026',
      'November 2026',
      'Thursday 26 November',
    ]);
  });

  it('of parts tell the rest from what belongs to none', () => {
    expect([
      partName({ id: 'prj_1', name: 'shop' }, 'No project'),
      partName({ id: 'prj_1' }, 'No project'),
      partName({}, 'No project'),
      partName({ others: 1_200 }, 'No project'),
    ]).toEqual(['shop', 'prj_1', 'No project', '1,200 others']);
  });
});
