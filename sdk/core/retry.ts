/**
 * This is the only place that decides what is tried again, and when.
 *
 * The documented rule is: 429, 5xx and network errors (timeouts among them). Two refinements, in this order:
 * 1. The server knows better. `x-should-retry` wins; so does `retryable: false` in the error body, because a
 *    500 that will fail again only costs the caller time. `retryable: true` adds the conflicts that pass by
 *    themselves: 409 while the first attempt with the same Idempotency-Key still runs, 408 and 425.
 * 2. 501 is not tried again: what is not implemented now is not implemented half a second later. Writes are
 *    as safe to repeat as reads, because each carries one Idempotency-Key over all attempts of its call.
 */
import { readErrorBody } from './errors.ts';

/** First backoff step and its ceiling; step n waits a random time up to `BASE * 2^n`. */
export const BACKOFF_BASE_MS = 500;
export const BACKOFF_MAX_MS = 8_000;
/** A server that asks for a longer pause than this is not waited for: the ordinary backoff applies. */
export const RETRY_AFTER_MAX_MS = 60_000;

export function shouldRetryStatus(status: number, headers: Headers, body: unknown): boolean {
  const asked = headers.get('x-should-retry');
  if (asked === 'true') return true;
  if (asked === 'false') return false;
  const { retryable, code } = readErrorBody(body);
  if (retryable === false) return false;
  if (status === 429 || (status >= 500 && status !== 501)) return true;
  if (status === 409) return retryable === true || code === 'idempotency_in_progress';
  return retryable === true && (status === 408 || status === 425);
}

/**
 * It returns the pause before the next attempt; `retriesSoFar` is 0 before the first retry. Full jitter
 * spreads a herd best.
 */
export function backoffMs(retriesSoFar: number, random: () => number): number {
  return random() * Math.min(BACKOFF_MAX_MS, BACKOFF_BASE_MS * 2 ** retriesSoFar);
}

/**
 * Returns the pause that the server asked for in `retry-after-ms` or `retry-after` (seconds or a date);
 * undefined when not to be obeyed.
 */
export function retryAfterMs(headers: Headers, nowMs: number): number | undefined {
  const ms = readMs(headers.get('retry-after-ms')) ?? readRetryAfter(headers.get('retry-after'), nowMs);
  return ms !== undefined && ms >= 0 && ms <= RETRY_AFTER_MAX_MS ? ms : undefined;
}

function readMs(value: string | null): number | undefined {
  return value !== null && /^\d+(\.\d+)?$/.test(value) ? Number(value) : undefined;
}

function readRetryAfter(value: string | null, nowMs: number): number | undefined {
  if (value === null) return undefined;
  const seconds = readMs(value);
  if (seconds !== undefined) return seconds * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : date - nowMs;
}
