/** Time as the gateway sees it. Deadlines run on the monotonic clock; only signatures look at the wall clock. */
export interface Clock {
  now(): Date;
  /** Milliseconds since some fixed moment, never set back. */
  monotonicMs(): number;
}

export const systemClock: Clock = {
  now: () => new Date(),
  monotonicMs: () => performance.now(),
};
