/**
 * The server steers the intervals; the runner keeps them within its own bounds, so that no answer can make it
 * silent or make it spin.
 */
import type { WireIntervals } from './wire.ts';

export interface Intervals {
  heartbeatMs: number;
  pollWaitMs: number;
  leaseMs: number;
}

export const DEFAULT_INTERVALS: Intervals = { heartbeatMs: 15_000, pollWaitMs: 30_000, leaseMs: 60_000 };

/**
 * The lower bounds leave room for tests with short leases; a real server never asks for less than seconds.
 */
const BOUNDS: Readonly<Record<keyof Intervals, readonly [min: number, max: number]>> = {
  heartbeatMs: [200, 30_000],
  pollWaitMs: [1_000, 50_000],
  leaseMs: [1_000, 600_000],
};

/** Absent, zero or odd values change nothing. At least three heartbeats fit in a lease. */
export function steer(current: Intervals, wanted: WireIntervals | undefined): Intervals {
  const next = { ...current };
  for (const name of ['heartbeatMs', 'pollWaitMs', 'leaseMs'] as const) {
    const value = wanted?.[name];
    if (value === undefined || !Number.isFinite(value) || value <= 0) continue;
    const [min, max] = BOUNDS[name];
    next[name] = Math.min(max, Math.max(min, value));
  }
  next.heartbeatMs = Math.min(next.heartbeatMs, next.leaseMs / 3);
  return next;
}
