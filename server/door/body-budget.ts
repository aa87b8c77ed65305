/**
 * How many bytes of bodies callers may have read, with their compression undone: each costs the server what
 * it unpacks to and not what was sent.
 */
import { networkOf } from '@svc/proto/http/address.ts';
import type { CallContext } from '@svc/proto/http/call.ts';
import type { Limits } from '../base/settings.ts';
import type { Clock } from '../base/clock.ts';
import { countedAs, type Caller } from '../kit/context.ts';
import { createRateLimiter, tooMany, type RateLimiter, type RateRule } from '../base/rate-limit.ts';

const MINUTE_MS = 60_000;
const MIB = 1_048_576;
/** A network has many callers behind it, and nobody needs a large body before signing in. */
const OF_NETWORK = 4;
const OF_NOBODY = 1 / 20;

/**
 * Counts a body that was read. Throws `rate_limited` when the budget of its caller or of the network is used
 * up.
 */
export type SpendBody = (call: CallContext, caller: Caller, bytes: number) => void;

export function createBodyBudget(clock: Clock, { bodyMibPerMinute }: Limits): SpendBody {
  const budget = (share: number): { readonly rule: RateRule; readonly limiter: RateLimiter } => {
    const rule = { count: bodyMibPerMinute * MIB * share, windowMs: MINUTE_MS };
    return { rule, limiter: createRateLimiter(rule, clock) };
  };
  const ofCaller = budget(1);
  const ofNetwork = budget(OF_NETWORK);
  const ofNobody = budget(OF_NOBODY);
  const spend = ({ rule, limiter }: ReturnType<typeof budget>, who: string, bytes: number): void => {
    const { allowed, resetMs } = limiter.take(who, bytes);
    if (!allowed) throw tooMany(`more than ${rule.count} bytes of bodies within a minute`, resetMs);
  };
  return (call, caller, bytes) => {
    const network = networkOf(call.remoteAddress);
    if (caller.kind === 'anonymous') return spend(ofNobody, network, bytes);
    spend(ofNetwork, network, bytes);
    spend(ofCaller, countedAs(caller), bytes);
  };
}
