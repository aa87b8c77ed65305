/**
 * Token buckets in memory, one for each that calls (an address, a credential, a runner). Each process counts
 * for itself: with n servers a caller may reach n times the rate, which is what a bucket against overload
 * needs, and it costs no round trip. Bounded: when there are too many, those that were not used for long are
 * forgotten together, which can only be generous.
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
  const perMs = rule.count / rule.windowMs;
  // Two generations: who calls is taken into the young one, and stays where it is for all calls after. A map
  // in which each call moves its entry to the end is copied again and again.
  const youngMax = Math.ceil(bucketsMax / 2);
  let young = new Map<string, Bucket>();
  let old = new Map<string, Bucket>();

  const tokensOf = (bucket: Bucket | undefined, nowMs: number): number =>
    bucket === undefined ? rule.count : Math.min(rule.count, bucket.tokens + (nowMs - bucket.atMs) * perMs);
  const used = (who: string): Bucket => {
    const known = young.get(who);
    if (known !== undefined) return known;
    const bucket = old.get(who) ?? { tokens: rule.count, atMs: clock.monotonicMs() };
    if (young.size >= youngMax) {
      old = young;
      young = new Map();
    }
    old.delete(who);
    young.set(who, bucket);
    return bucket;
  };
  const state = (tokens: number, allowed: boolean): RateState => ({
    allowed,
    remaining: Math.max(0, Math.floor(tokens)),
    resetMs: allowed ? (rule.count - tokens) / perMs : (1 - tokens) / perMs,
  });

  return {
    take: (who, cost = 1) => {
      const bucket = used(who);
      const nowMs = clock.monotonicMs();
      bucket.tokens = tokensOf(bucket, nowMs);
      bucket.atMs = nowMs;
      const allowed = bucket.tokens >= 1;
      if (allowed) bucket.tokens -= cost;
      return state(bucket.tokens, allowed);
    },
    peek: (who) => {
      const tokens = tokensOf(young.get(who) ?? old.get(who), clock.monotonicMs());
      return state(tokens, tokens >= 1);
    },
    reset: (who) => {
      young.delete(who);
      old.delete(who);
    },
  };
}
