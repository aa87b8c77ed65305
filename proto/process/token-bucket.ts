/**
 * Token buckets in memory, one for each that calls (an address, a credential, a runner). Each process counts
 * for itself: with n servers a caller may reach n times the rate, which is what a bucket against overload
 * needs, and it costs no round trip. Bounded: the least recently used bucket is forgotten, which can only be
 * generous.
 */
import type { Clock } from './clock.ts';

export interface RateRule {
  readonly count: number;
  readonly windowMs: number;
}

export interface RateState {
  readonly allowed: boolean;
  /** Whole calls left. */
  readonly remaining: number;
  /** Until the bucket is full again, or until the next call is allowed when it is empty. */
  readonly resetMs: number;
}

export interface RateLimiter {
  /**
   * Allowed while anything is left; what costs more than that is paid off before the next is allowed. `cost`:
   * calls or bytes, default 1.
   */
  take(who: string, cost?: number): RateState;
  /** Without taking. */
  peek(who: string): RateState;
  /** Gives a full bucket back, for example after a success. */
  reset(who: string): void;
}

interface Bucket {
  tokens: number;
  atMs: number;
}

const BUCKETS_MAX = 100_000;

export function createRateLimiter(
  rule: RateRule,
  clock: Clock,
  bucketsMax: number = BUCKETS_MAX,
): RateLimiter {
  const buckets = new Map<string, Bucket>();
  const perMs = rule.count / rule.windowMs;

  const refill = (who: string): Bucket => {
    const nowMs = clock.monotonicMs();
    const known = buckets.get(who);
    const tokens =
      known === undefined ? rule.count : Math.min(rule.count, known.tokens + (nowMs - known.atMs) * perMs);
    return { tokens, atMs: nowMs };
  };
  const state = (bucket: Bucket, allowed: boolean): RateState => ({
    allowed,
    remaining: Math.max(0, Math.floor(bucket.tokens)),
    resetMs: allowed ? (rule.count - bucket.tokens) / perMs : (1 - bucket.tokens) / perMs,
  });

  return {
    take: (who, cost = 1) => {
      const bucket = refill(who);
      const allowed = bucket.tokens >= 1;
      if (allowed) bucket.tokens -= cost;
      buckets.delete(who); // to the end: the map's order is the order of use
      buckets.set(who, bucket);
      if (buckets.size > bucketsMax) {
        const oldest = buckets.keys().next();
        if (oldest.done !== true) buckets.delete(oldest.value);
      }
      return state(bucket, allowed);
    },
    peek: (who) => {
      const bucket = refill(who);
      return state(bucket, bucket.tokens >= 1);
    },
    reset: (who) => void buckets.delete(who),
  };
}
