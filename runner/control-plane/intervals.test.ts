import { describe, expect, it } from 'vitest';
import { DEFAULT_INTERVALS, steer } from './intervals.ts';

describe('steer()', () => {
  it('takes what the server says within bounds', () => {
    expect(steer(DEFAULT_INTERVALS, { heartbeatMs: 10_000, pollWaitMs: 20_000, leaseMs: 90_000 })).toEqual({
      heartbeatMs: 10_000,
      pollWaitMs: 20_000,
      leaseMs: 90_000,
    });
    expect(steer(DEFAULT_INTERVALS, { heartbeatMs: 1, pollWaitMs: 1, leaseMs: 1e9 })).toEqual({
      heartbeatMs: 200,
      pollWaitMs: 1_000,
      leaseMs: 600_000,
    });
    expect(steer(DEFAULT_INTERVALS, { heartbeatMs: 1e9 }).heartbeatMs).toBe(20_000);
  });

  it('keeps what it has when the server says nothing or nonsense', () => {
    expect(steer(DEFAULT_INTERVALS, undefined)).toEqual(DEFAULT_INTERVALS);
    expect(steer(DEFAULT_INTERVALS, { heartbeatMs: 0, pollWaitMs: Number.NaN, leaseMs: -5 })).toEqual(
      DEFAULT_INTERVALS,
    );
  });

  it('fits three heartbeats in a lease', () => {
    expect(steer(DEFAULT_INTERVALS, { leaseMs: 3_000 }).heartbeatMs).toBe(1_000);
  });
});
