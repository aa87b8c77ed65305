/** How often one account may be guessed at, whatever the address: on top of the limit for each address in admission.ts. */
import type { Clock } from '../platform/clock.ts';
import { createRateLimiter } from '../platform/rate-limit.ts';
import type { RateLimiter } from '../platform/rate-limit.ts';

const WINDOW_MS = 15 * 60_000;

export interface Tries {
  /** By e-mail address. A right password gives the tries back. */
  readonly password: RateLimiter;
  /** One-time codes, by account id. */
  readonly code: RateLimiter;
}

export function createTries(clock: Clock): Tries {
  return {
    password: createRateLimiter({ count: 10, windowMs: WINDOW_MS }, clock),
    code: createRateLimiter({ count: 5, windowMs: WINDOW_MS }, clock),
  };
}
