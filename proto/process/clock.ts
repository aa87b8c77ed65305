/** Time as a dependency: tests move it by hand. */
export interface Clock {
  /** Wall clock; for signatures, and for what is stored and shown. */
  now(): Date;
  /** Milliseconds since some fixed moment. Never goes back; for durations, deadlines and limits. */
  monotonicMs(): number;
}

export const systemClock: Clock = {
  now: () => new Date(),
  monotonicMs: () => performance.now(),
};
