import { describe, expect, it } from 'vitest';
import { clockTime, relativeTime } from './relative-time.ts';

const NOW = Date.parse('2026-11-20T14:02:00Z');
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describe('relativeTime()', () => {
  it.each([
    [0, 'just now'],
    [44_000, 'just now'],
    [50_000, '1 minute ago'],
    [5 * MINUTE, '5 minutes ago'],
    [59.7 * MINUTE, '1 hour ago'],
    [23.7 * HOUR, 'yesterday'],
    [3 * DAY, '3 days ago'],
    [29.8 * DAY, 'last month'],
    [400 * DAY, 'last year'],
  ])('says what lies %i ms back as %s', (agoMs, words) => {
    expect(relativeTime(NOW - agoMs, NOW)).toBe(words);
  });

  it('speaks of the future where no difference of clocks explains it', () => {
    expect(relativeTime(NOW + 9 * MINUTE, NOW)).toBe('just now');
    expect(relativeTime(NOW + HOUR, NOW)).toBe('in 1 hour');
    expect(relativeTime(NOW + 3 * DAY, NOW)).toBe('in 3 days');
  });
});

describe('clockTime()', () => {
  it('names the day when it is another one', () => {
    const at = new Date(NOW);
    const hours = `${String(at.getHours()).padStart(2, '0')}:${String(at.getMinutes()).padStart(2, '0')}`;
    expect(clockTime(NOW, NOW)).toBe(hours);
    expect(clockTime(NOW, NOW + 2 * DAY)).toMatch(new RegExp(`^\\d+ Nov, ${hours}$`));
  });
});
