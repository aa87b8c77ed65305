/** Days that somebody asks about. */
import { describe, expect, it } from 'vitest';
import { addDays, assertSpan, monthOf, readDay } from './days.ts';

const day = (text: string) => ({ resource: 'costs', field: 'since', text });

describe('a day', () => {
  it.each([
    ['2026-11-01', '2026-11-01'],
    ['2026-11-01T00:00:00Z', '2026-11-01'],
    ['2026-11-01t00:00:00.000z', '2026-11-01'],
    ['2026-11-01T00:00:00+00:00', '2026-11-01'],
    ['2024-02-29', '2024-02-29'],
  ])('is read from %s', (text, expected) => expect(readDay(day(text))).toEqual(day(expected)));

  it.each([
    '',
    '2026-11-1',
    '2026-02-29',
    '2026-13-01',
    '2026-11-01T00:00:01Z',
    '2026-11-01T00:00:00+02:00',
    '2026-11-01 ',
    '0000-01-01',
    '9999-01-01',
    '+002026-11-01',
    '٢٠٢٦-11-01',
  ])('is not %j', (text) => {
    expect(() => readDay(day(text))).toThrow(`since is ${text}, which is no day of the calendar`);
  });

  it('goes over the ends of months and years', () => {
    expect([addDays('2026-12-31', 1), addDays('2024-03-01', -1), monthOf('2026-11-30')]).toEqual([
      '2027-01-01',
      '2024-02-29',
      '2026-11-01',
    ]);
  });

  it('is one of 366 at most, and not before the first', () => {
    const span = (first: string, last: string, isLastIncluded: boolean) => () =>
      assertSpan({ first: day(first), last: { ...day(last), field: 'until' }, isLastIncluded });
    expect(span('2026-01-01', '2027-01-02', false)).not.toThrow();
    expect(span('2026-01-01', '2027-01-03', false)).toThrow('are 367 days, at most 366');
    expect(span('2026-01-01', '2027-01-02', true)).toThrow('are 367 days, at most 366');
    expect(span('2026-01-01', '2026-01-01', true)).not.toThrow();
    expect(span('2026-01-01', '2026-01-01', false)).toThrow('expected since < until');
  });
});
