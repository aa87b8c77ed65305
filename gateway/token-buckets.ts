/**
 * Token buckets by key (an address, a runner), bounded in number. A bucket that is full again is the same as none, so
 * the oldest are dropped first; an attacker with many addresses can at worst make others' buckets full again.
 */
import type { Clock } from './clock.ts';

export interface BucketLimits {
  /** Tokens that come back each second. */
  readonly perSecond: number;
  /** Tokens of a full bucket. */
  readonly burst: number;
}

const BUCKETS_MAX = 20_000;

interface Bucket {
  tokens: number;
  atMs: number;
}

export class TokenBuckets {
  readonly #clock: Clock;
  readonly #limits: BucketLimits;
  readonly #buckets = new Map<string, Bucket>();

  constructor(clock: Clock, limits: BucketLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Takes one token. Returns 0, or after how many milliseconds the next token comes when there was none. */
  take(key: string): number {
    const bucket = this.#refilled(key);
    if (bucket.tokens < 1) return this.#waitMs(bucket);
    bucket.tokens -= 1;
    return 0;
  }

  /** What `take` would return, without taking. */
  waitMs(key: string): number {
    const bucket = this.#buckets.get(key);
    if (bucket === undefined) return 0;
    this.#refill(bucket);
    return bucket.tokens < 1 ? this.#waitMs(bucket) : 0;
  }

  #waitMs(bucket: Bucket): number {
    return Math.ceil(((1 - bucket.tokens) / this.#limits.perSecond) * 1000);
  }

  #refill(bucket: Bucket): void {
    const nowMs = this.#clock.monotonicMs();
    const gained = ((nowMs - bucket.atMs) / 1000) * this.#limits.perSecond;
    bucket.tokens = Math.min(this.#limits.burst, bucket.tokens + gained);
    bucket.atMs = nowMs;
  }

  #refilled(key: string): Bucket {
    const known = this.#buckets.get(key);
    if (known !== undefined) {
      this.#refill(known);
      return known;
    }
    if (this.#buckets.size >= BUCKETS_MAX) {
      const oldest = this.#buckets.keys().next();
      if (!oldest.done) this.#buckets.delete(oldest.value);
    }
    const bucket = { tokens: this.#limits.burst, atMs: this.#clock.monotonicMs() };
    this.#buckets.set(key, bucket);
    return bucket;
  }
}
