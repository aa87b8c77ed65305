/** What a month is likely to come to. */
import { describe, expect, it } from 'vitest';
import { addDays } from '../metering/index.ts';
import { forecastOf, historyFrom, type Spent } from './forecast.ts';

const UNIT = 10n ** 12n;
const spent = (units: number): Spent => ({ list: BigInt(units) * UNIT, ms: units * 1_000 });
/** Makes days from `first` to `last`, both included. */
const daysOf = (first: string, last: string, units: (day: string) => number): Map<string, Spent> => {
  const days = new Map<string, Spent>();
  for (let day = first; day <= last; day = addDays(day, 1)) days.set(day, spent(units(day)));
  return days;
};
const isWeekend = (day: string): boolean => [0, 6].includes(new Date(day).getUTCDay());

describe('a forecast', () => {
  it('is there from the third day of a month on', () => {
    expect(forecastOf({ today: '2026-11-02', days: new Map() })).toBeUndefined();
    expect(forecastOf({ today: '2026-11-03', days: new Map() })).toMatchObject({
      list: 0n,
      method: 'linear',
    });
  });

  it('goes on as up to now when there is little history', () => {
    const days = daysOf('2026-11-03', '2026-11-06', () => 10);
    // Three complete days of 10, and 25 days left with today, which has taken its 10 already.
    const { list, method, soFar } = forecastOf({ today: '2026-11-06', firstDay: '2026-11-03', days })!;
    expect([list, method, soFar.list]).toEqual([280n * UNIT, 'linear', 40n * UNIT]);
  });

  it('takes the median of each weekday, so that weekends stay weekends', () => {
    const today = '2026-11-09';
    const days = daysOf('2026-10-01', today, (day) => (day === today ? 0 : isWeekend(day) ? 1 : 10));
    days.set('2026-10-19', spent(5_000)); // One wild Monday.
    const { list, ms, method } = forecastOf({ today, firstDay: '2026-10-01', days })!;
    // November 2026 has 21 working days and 9 of weekends.
    expect([list, ms, method]).toEqual([219n * UNIT, 219_000, 'weekdays']);
  });

  it('counts today for no less than it took already', () => {
    const today = '2026-11-09';
    const days = daysOf('2026-10-01', today, (day) => (day === today ? 100 : 10));
    expect(forecastOf({ today, firstDay: '2026-10-01', days })!.list).toBe(390n * UNIT);
  });

  it('looks back four weeks, or to the first of the month', () => {
    expect(['2026-11-09', '2026-10-31'].map(historyFrom)).toEqual(['2026-10-12', '2026-10-01']);
  });
});
