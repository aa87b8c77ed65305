import { describe, expect, it } from 'vitest';
import { amount, costOf, day, month, netWords, ofCents, partName, shortDay, sumOf, time } from './words.ts';

const usd = { currency: 'usd', decimals: 2 };

describe('amounts', () => {
  it('show cents, and of less than a unit what says something', () => {
    expect(
      ['12.345600000000', '0.000910000000', '0.000000000000', '1234.5'].map((text) => amount(text, usd)),
    ).toEqual(['$12.35', '$0.00091', '$0.00', '$1,234.50']);
    expect(['0.3', '1', '-0.3', '0.125'].map((text) => amount(text, usd))).toEqual([
      '$0.30',
      '$1.00',
      '-$0.30',
      '$0.13',
    ]);
  });

  it.each([
    ['usd', 2, ['$0.30', '$1.00', '-$2,910.27']],
    ['eur', 2, ['€0.30', '€1.00', '-€2,910.27']],
    ['jpy', 0, ['¥30', '¥100', '-¥291,027']],
    ['krw', 0, ['₩30', '₩100', '-₩291,027']],
    ['kwd', 3, ['KWD 0.030', 'KWD 0.100', '-KWD 291.027']],
    ['bhd', 3, ['BHD 0.030', 'BHD 0.100', '-BHD 291.027']],
    ['isk', 2, ['ISK 0.30', 'ISK 1.00', '-ISK 2,910.27']],
  ])('in %s have its %i decimals, always all of them', (currency, decimals, expected) => {
    const shown = [30, 100, -291_027].map((cents) => ofCents(cents, { currency, decimals }));
    expect(shown.map((text) => text.replace('\u00a0', ' '))).toEqual(expected);
  });

  it('of a month are those of its statement', () => {
    const dinars = { currency: 'kwd', decimals: 3, net: '291.027400000000', netCents: 291_030 };
    expect(netWords(dinars).replace('\u00a0', ' ')).toBe('KWD 291.030');
    expect(netWords({ ...usd, net: '0.000910000000', netCents: 0 })).toBe('$0.00091');
  });

  it('sum up and come of milliseconds exactly', () => {
    expect(sumOf(['0.100000000000', '0.2', '9007199254740993'])).toBe('9007199254740993.300000000000');
    expect(costOf({ meteredMs: 90_500, nanosPerSecond: 100_000 })).toBe('0.009050000000');
    expect(costOf({ meteredMs: 4_294_967_295, nanosPerSecond: 1_000_000_000 })).toBe('4294967.295000000000');
  });

  it('are exact beyond what a number holds', () => {
    expect(ofCents(2n ** 53n + 1n, usd)).toBe('$90,071,992,547,409.93');
  });
});

describe('time()', () => {
  it('is as exact as people need it', () => {
    expect([3.4, 150, 5_400, 360_000].map(time)).toEqual(['3 s', '3 min', '1.5 h', '100 h']);
  });
});

describe('names', () => {
  it('of months and days are those of UTC', () => {
    expect([month('2026-11'), month('2026-11-01'), day('2026-11-26'), shortDay('2026-11-26')]).toEqual([
      'November 2026',
      'November 2026',
      'Thursday 26 November',
      '26 Nov',
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
