/**
 * The delay before the next try: the first retry comes at once (most failures are one reset connection), the
 * later ones with full jitter over 1 s · 2^n, at most 60 s, so that a fleet that lost its control plane does
 * not come back as one wave.
 */

export const BACKOFF_BASE_MS = 1_000;
export const BACKOFF_MAX_MS = 60_000;
/** A server may ask for more patience than our own cap, within reason. */
export const RETRY_AFTER_MAX_MS = 300_000;

/**
 * Least delay between tries at a control plane that serves no runners: staff switch features by the minute,
 * not by the second.
 */
export const UNSERVED_MIN_MS = 5_000;

export interface BackoffOptions {
  baseMs?: number;
  maxMs?: number;
  random?: () => number;
}

/** `failures` counts from 1. A server's `retryAfterMs` is never undercut, only spread a little. */
export function nextDelayMs(failures: number, retryAfterMs?: number, options: BackoffOptions = {}): number {
  const random = options.random ?? Math.random;
  if (retryAfterMs !== undefined) {
    const asked = Math.min(retryAfterMs, RETRY_AFTER_MAX_MS);
    return asked + random() * Math.min(asked, 1_000);
  }
  if (failures <= 1) return 0;
  const ceiling = Math.min(
    (options.baseMs ?? BACKOFF_BASE_MS) * 2 ** Math.min(failures - 2, 30),
    options.maxMs ?? BACKOFF_MAX_MS,
  );
  return random() * ceiling;
}

/**
 * The same after answers of a control plane that serves no runners at present: full jitter between 5 s and a
 * ceiling of 10 s, 20 s, 40 s, 60 s.
 */
export function unservedDelayMs(failures: number, options: BackoffOptions = {}): number {
  const random = options.random ?? Math.random;
  const ceiling = Math.min(UNSERVED_MIN_MS * 2 ** Math.min(failures, 30), BACKOFF_MAX_MS);
  return UNSERVED_MIN_MS + random() * (ceiling - UNSERVED_MIN_MS);
}
