import { describe, expect, it } from 'vitest';
import { backoffMs, retryAfterMs, shouldRetryStatus } from './retry.ts';

describe('backoffMs()', () => {
  it('doubles from half a second to eight seconds, with full jitter', () => {
    const most = [0, 1, 2, 3, 4, 5, 20].map((retries) => backoffMs(retries, () => 1));
    expect(most).toEqual([500, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000]);
    expect(backoffMs(3, () => 0)).toBe(0);
  });
});

describe('retryAfterMs()', () => {
  const now = Date.UTC(2026, 0, 1);
  it.each([
    [{}, undefined],
    [{ 'retry-after': '1' }, 1_000],
    [{ 'retry-after': '60' }, 60_000],
    [{ 'retry-after': '61' }, undefined],
    [{ 'retry-after': '-1' }, undefined],
    [{ 'retry-after': '1.5' }, 1_500],
    [{ 'retry-after': 'Thu, 01 Jan 2026 00:00:10 GMT' }, 10_000],
    [{ 'retry-after': 'Thu, 01 Jan 2026 01:00:00 GMT' }, undefined],
    [{ 'retry-after': 'Wed, 31 Dec 2025 23:59:59 GMT' }, undefined],
    [{ 'retry-after-ms': '250' }, 250],
    [{ 'retry-after-ms': 'x', 'retry-after': '2' }, 2_000],
  ] satisfies [Record<string, string>, number | undefined][])('%j: %s', (headers, ms) => {
    expect(retryAfterMs(new Headers(headers), now)).toBe(ms);
  });
});

describe('shouldRetryStatus()', () => {
  it.each([
    [200, false],
    [304, false],
    [400, false],
    [404, false],
    [408, false],
    [409, false],
    [429, true],
    [500, true],
    [501, false],
    [502, true],
    [503, true],
    [504, true],
    [505, true],
  ])('%i without more: %s', (status, again) => {
    expect(shouldRetryStatus(status, new Headers(), undefined)).toBe(again);
  });
});
