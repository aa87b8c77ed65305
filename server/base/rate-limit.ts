/** This file tells callers of their rate, by headers of draft-ietf-httpapi-ratelimit-headers. */
import { apiError } from '@svc/proto/http/errors.ts';
import type { RateRule, RateState } from '@svc/proto/process/token-bucket.ts';

export { createRateLimiter } from '@svc/proto/process/token-bucket.ts';
export type { RateLimiter, RateRule } from '@svc/proto/process/token-bucket.ts';

const seconds = (ms: number): number => Math.max(0, Math.ceil(ms / 1_000));

/** The same for every call: made once for each rule. */
const policies = new WeakMap<RateRule, string>();

function policyText(name: string, rule: RateRule): string {
  const known = policies.get(rule);
  if (known !== undefined) return known;
  const text = `"${name}";q=${rule.count};w=${seconds(rule.windowMs)}`;
  policies.set(rule, text);
  return text;
}

/** Says what the caller has left, and refuses when that is nothing. */
export function applyRate(
  { name, rule }: { readonly name: string; readonly rule: RateRule },
  state: RateState,
  headers: Map<string, string>,
): void {
  headers.set('ratelimit-policy', policyText(name, rule));
  headers.set('ratelimit', `"${name}";r=${state.remaining};t=${seconds(state.resetMs)}`);
  if (state.allowed) return;
  throw tooMany(`more than ${rule.count} calls in ${seconds(rule.windowMs)} s`, state.resetMs);
}

export function tooMany(what: string, retryAfterMs: number): Error {
  return apiError('rate_limited', `too many calls: ${what}; try again in ${seconds(retryAfterMs)} s`, {
    retryAfterMs,
  });
}
