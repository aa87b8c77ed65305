/**
 * Token buckets, in process. A bucket holds up to `quota` tokens and gains `quota` per `windowMs`, evenly; each call takes one. One map
 * per limiter holds a bucket per key, least recently used first; beyond `keysMax` the oldest is forgotten, which can only be
 * kind to its owner. A bucket that would be full again is as good as none, so forgetting idle keys loses nothing.
 */
import { apiError, type ApiError } from './errors.ts';

export interface RatePolicy {
  /** Shown in the headers: `login`, `submit`. */
  readonly name: string;
  /** Calls that may come at once, and per window in the long run. */
  readonly quota: number;
  readonly windowMs: number;
}

export interface RateState {
  readonly allowed: boolean;
  /** Calls that may come right now. */
  readonly remaining: number;
  /** Until the bucket is full again. */
  readonly resetMs: number;
  /** Until one call is allowed; 0 when one is. */
  readonly retryAfterMs: number;
}

export interface RateLimiter {
  readonly policy: RatePolicy;
  /** Takes one token of the key, or none when there is none. `cost`: tokens of one call. */
  take(key: string, cost?: number): RateState;
  /** Keys remembered, for metrics. */
  readonly size: number;
}

export interface RateLimiterOptions {
  /** Default: 100,000, about 10 MB. */
  readonly keysMax?: number;
  /** Monotonic, in milliseconds. */
  readonly nowMs?: () => number;
}

interface Bucket {
  tokens: number;
  /** When `tokens` was right. */
  atMs: number;
}

export function createRateLimiter(policy: RatePolicy, options: RateLimiterOptions = {}): RateLimiter {
  const { keysMax = 100_000, nowMs = () => performance.now() } = options;
  const { quota, windowMs } = policy;
  if (!(quota > 0 && windowMs > 0))
    throw new Error(`rate policy ${policy.name}: quota ${quota} and window ${windowMs} ms must be positive`);
  const perMs = quota / windowMs;
  const buckets = new Map<string, Bucket>();

  const refill = (key: string, now: number): Bucket => {
    const bucket = buckets.get(key) ?? { tokens: quota, atMs: now };
    // To the end of the order: least recently used comes first.
    buckets.delete(key);
    buckets.set(key, bucket);
    bucket.tokens = Math.min(quota, bucket.tokens + (now - bucket.atMs) * perMs);
    bucket.atMs = now;
    return bucket;
  };

  return {
    policy,
    take(key, cost = 1) {
      const bucket = refill(key, nowMs());
      if (buckets.size > keysMax) buckets.delete(buckets.keys().next().value as string);
      // Rounding must not refuse a token that has come back to the last digit.
      const allowed = bucket.tokens + 1e-9 >= cost;
      if (allowed) bucket.tokens -= cost;
      return {
        allowed,
        remaining: Math.max(0, Math.floor(bucket.tokens + 1e-9)),
        resetMs: Math.max(0, (quota - bucket.tokens) / perMs),
        retryAfterMs: allowed ? 0 : (cost - bucket.tokens) / perMs,
      };
    },
    get size() {
      return buckets.size;
    },
  };
}

/** Header fields of draft-ietf-httpapi-ratelimit-headers-08, lower-case names. */
export function rateHeaders(policy: RatePolicy, state: RateState): Record<string, string> {
  return {
    'ratelimit-policy': `"${policy.name}";q=${policy.quota};w=${Math.ceil(policy.windowMs / 1000)}`,
    ratelimit: `"${policy.name}";r=${state.remaining};t=${Math.ceil(state.resetMs / 1000)}`,
  };
}

/** The refusal of a call over its limit, with Retry-After. */
export function rateLimited(policy: RatePolicy, state: RateState): ApiError {
  const perWindow = `${policy.quota} per ${Math.ceil(policy.windowMs / 1000)} s`;
  return apiError(
    'rate_limited',
    `too many calls: the limit "${policy.name}" is ${perWindow}; wait ${Math.ceil(state.retryAfterMs)} ms`,
    {
      retryAfterMs: state.retryAfterMs,
      headers: rateHeaders(policy, state),
      details: { limit: policy.name, quota: policy.quota, windowSeconds: Math.ceil(policy.windowMs / 1000) },
    },
  );
}
