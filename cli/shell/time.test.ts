import { describe, expect, it } from 'vitest';
import { formatDuration, formatRelative, parseDuration, parseTime } from './time.ts';

describe('parseDuration()', () => {
  it.each([
    ['90', 90_000],
    ['0.5', 500],
    ['500ms', 500],
    ['1.5m', 90_000],
    ['1h30m', 5_400_000],
    ['2d', 172_800_000],
  ])('reads %s', (text, ms) => expect(parseDuration(text)).toBe(ms));

  it.each(['', 's', '-5s', '5 s', '5x', '1m!', 'm5'])('refuses "%s"', (text) =>
    expect(parseDuration(text)).toBeUndefined(),
  );
});

describe('formatDuration()', () => {
  it.each([
    [0, '0ms'],
    [340, '340ms'],
    [1_200, '1.2s'],
    [2_000, '2s'],
    [59_960, '1m'],
    [125_000, '2m 5s'],
    [3_780_000, '1h 3m'],
    [356_400_000, '4d 3h'],
    [-1_500, '-1.5s'],
  ])('writes %d', (ms, text) => expect(formatDuration(ms)).toBe(text));
});

describe('formatRelative()', () => {
  const now = Date.parse('2026-11-20T12:00:00Z');
  it.each([
    [-500, 'just now'],
    [-4_700, '4s ago'],
    [-180_000, '3m ago'],
    [-7_300_000, '2h ago'],
    [900_000, 'in 15m'],
  ])('writes %d ms away', (offset, text) => expect(formatRelative(now + offset, now)).toBe(text));
});

describe('parseTime()', () => {
  it('takes RFC 3339 and nothing else', () => {
    expect(parseTime('2026-11-20T08:00:00.5+01:00')).toBe(Date.parse('2026-11-20T07:00:00.5Z'));
    expect(parseTime('2026-11-20')).toBeUndefined();
    expect(parseTime('2026-13-40T08:00:00Z')).toBeUndefined();
    expect(parseTime('run_2026')).toBeUndefined();
  });
});
