/**
 * How long to wait before the next try: the first retry at once (most failures are one reset connection), then full jitter over
 * 1 s · 2^n, at most 60 s, so that a fleet that lost its control plane does not come back as one wave.
 */

export const BACKOFF_BASE_MS = 1_000;
export const BACKOFF_MAX_MS = 60_000;
/** A server may ask for more patience than our own cap, within reason. */
export const RETRY_AFTER_MAX_MS = 300_000;

export interface BackoffOptions {
  baseMs?: number;
  maxMs?: number;
  random?: () => number;
}

/** `failures` counts from 1. `retryAfterMs` is the server's word and is never undercut, only spread a little. */
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
