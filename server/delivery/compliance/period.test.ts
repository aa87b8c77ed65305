import { describe, expect, it } from 'vitest';
import { readPeriod } from './period.ts';

const NOW = new Date('2026-06-15T12:00:00Z');
const read = (periodStart: string, periodEnd: string) => readPeriod({ periodStart, periodEnd }, NOW);

describe('readPeriod()', () => {
  it('takes days in UTC, of which the last one belongs to the period', () => {
    expect(read('2026-01-01', '2026-03-31')).toEqual({
      periodStart: new Date('2026-01-01T00:00:00Z'),
      periodEnd: new Date('2026-04-01T00:00:00Z'),
      partial: false,
      coversUntil: new Date('2026-04-01T00:00:00Z'),
    });
    expect(read('2026-01-01', '2026-01-01').periodEnd).toEqual(new Date('2026-01-02T00:00:00Z'));
  });

  it('takes times with their offsets', () => {
    const { periodStart, periodEnd } = read('2026-01-01T00:00:00+02:00', '2026-01-01t01:30:00.25Z');
    expect(periodStart).toEqual(new Date('2025-12-31T22:00:00Z'));
    expect(periodEnd).toEqual(new Date('2026-01-01T01:30:00.250Z'));
  });

  it('says how far a period goes that has not ended', () => {
    expect(read('2026-06-01', '2026-06-30')).toMatchObject({ partial: true, coversUntil: NOW });
    expect(read('2026-06-01', '2026-06-15T12:00:00Z')).toMatchObject({ partial: false, coversUntil: NOW });
  });

  it('takes 366 days and not one millisecond more', () => {
    expect(read('2024-01-01', '2024-12-31').partial).toBe(false);
    expect(() => read('2024-01-01', '2025-01-01T00:00:00.001Z')).toThrow(/367 days, at most 366/);
  });

  it.each([
    ['2026-02-30', '2026-03-01', /"2026-02-30", expected YYYY-MM-DD/],
    ['2026-02-30T00:00:00Z', '2026-03-01', /expected YYYY-MM-DD/],
    ['2026-01-01T25:00:00Z', '2026-03-01', /expected YYYY-MM-DD/],
    ['January 1, 2026', '2026-03-01', /expected YYYY-MM-DD/],
    ['2026-01-01 00:00:00Z', '2026-03-01', /expected YYYY-MM-DD/],
    ['2026-01-02', '2026-01-01', /expected a time behind the start/],
    ['2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z', /expected a time behind the start/],
    ['2026-06-16', '2026-06-17', /has not come yet/],
  ])('refuses %s to %s', (start, end, why) => {
    expect(() => read(start, end)).toThrow(why);
  });
});
