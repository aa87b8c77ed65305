import { describe, expect, it } from 'vitest';
import { judgeOffset, offsetFromDateField, offsetFromServerTime, signingSeconds } from './skew.ts';

const sentAtMs = Date.UTC(2026, 0, 1, 0, 0, 0);
const reply = { sentAtMs, receivedAtMs: sentAtMs + 400 };

describe('offsetFromDateField()', () => {
  it('takes the middle of the second against the middle of the exchange', () => {
    expect(offsetFromDateField('Thu, 01 Jan 2026 00:10:00 GMT', reply)).toBe(600_000 + 500 - 200);
    expect(offsetFromDateField('Wed, 31 Dec 2025 23:50:00 GMT', reply)).toBe(-600_000 + 500 - 200);
  });

  it('knows nothing without a readable date', () => {
    for (const date of [undefined, null, '', 'tomorrow'])
      expect(offsetFromDateField(date, reply)).toBeUndefined();
  });
});

describe('offsetFromServerTime()', () => {
  it('needs no rounding correction', () => {
    expect(offsetFromServerTime(sentAtMs + 5_200, reply)).toBe(5_000);
  });
});

describe('judgeOffset()', () => {
  it.each([
    [0, 'use'],
    [5_000, 'use'],
    [-5_001, 'use_and_log'],
    [86_400_000, 'use_and_log'],
    [86_400_001, 'refuse'],
    [-86_400_001, 'refuse'],
  ])('%i ms: %s', (offsetMs, verdict) => {
    expect(judgeOffset(offsetMs, { enrolling: false })).toBe(verdict);
  });

  it('believes any clock at enrollment', () => {
    expect(judgeOffset(1e12, { enrolling: true })).toBe('use_and_log');
  });
});

describe('signingSeconds()', () => {
  it('is the server clock in whole seconds', () => {
    expect(signingSeconds(1_767_225_600_900, 600_200)).toBe(1_767_226_201);
  });
});
