/**
 * Authentication, rate limits and the credential's own scope: what happens to a call before its body is
 * looked at. `countIdToken` counts, as a wrong credential, an id_token that only the request showed to be
 * wrong.
 *
 * What counts by address counts by network (networkOf). Wrong credentials from a network bound what else of
 * unknown credentials from there is looked at, and nothing more: one that was good at its last look is taken
 * from there as from anywhere, because others, good and bad, may share the address.
 */
import { networkOf } from '@svc/proto/http/address.ts';
import type { CallContext } from '@svc/proto/http/call.ts';
import { ApiError, apiError, type ErrorCode } from '@svc/proto/http/errors.ts';
import type { RateLimit } from '@svc/proto/http/rpc.ts';
import { ANONYMOUS, type Authenticator } from '../access/auth/index.ts';
import type { Limits } from '../base/settings.ts';
import { authoriseCredential } from '../kit/authorise.ts';
import type { Clock } from '../base/clock.ts';
import { countedAs, type Caller } from '../kit/context.ts';
import {
  applyRate,
  createRateLimiter,
  tooMany,
  type RateLimiter,
  type RateRule,
} from '../base/rate-limit.ts';

const MINUTE_MS = 60_000;
/** A minute and network. Each costs a look into the database or the check of a signature. */
const SECOND_LOOKS = 300;

/** One bucket kind; who it counts is decided by `admit`. */
interface Bucket {
  readonly name: string;
  readonly rule: RateRule;
  readonly limiter: RateLimiter;
}

export function createAdmission(deps: {
  readonly authenticator: Authenticator;
  readonly clock: Clock;
  readonly limits: Limits;
}) {
  const { authenticator, clock, limits } = deps;
  const bucket = (name: string, count: number): Bucket => {
    const rule = { count, windowMs: MINUTE_MS };
    return { name, rule, limiter: createRateLimiter(rule, clock) };
  };
  const buckets: Readonly<Record<RateLimit, Bucket>> = {
    default: bucket('default', limits.requestsPerMinute),
    submit: bucket('submit', limits.submitsPerMinute),
    login: bucket('login', limits.loginsPerMinute),
    machine: bucket('machine', limits.requestsPerMinute),
  };
  const anonymous = bucket('anonymous', limits.anonymousPerMinute);
  /** Credentials that turned out wrong, by network: guessing is slowed before the database is asked. */
  const failures = bucket('failures', limits.loginsPerMinute * 3);
  /** Looks at unknown credentials from a network that has used those up: a good one may be among them. */
  const secondLooks = bucket('second looks', SECOND_LOOKS);

  const spend = (call: CallContext, { name, rule, limiter }: Bucket, who: string): void =>
    applyRate({ name, rule }, limiter.take(who), call.responseHeaders);

  const afterwards = (call: CallContext, caller: Caller | undefined): Caller => {
    const { auth, rateLimit, idTokens } = call.rpc;
    if (caller?.kind === 'ci_job' && idTokens !== true) throw onlyRuns();
    if (caller === undefined && auth !== 'optional') throw missing();
    if (rateLimit === 'login') spend(call, buckets.login, networkOf(call.remoteAddress));
    else if (caller === undefined) spend(call, anonymous, networkOf(call.remoteAddress));
    else spend(call, buckets[rateLimit], countedAs(caller));
    // A job of a CI system has no scope before its request says which run it is about.
    if (caller !== undefined && caller.kind !== 'ci_job') authoriseCredential(call.rpc, caller);
    return caller ?? ANONYMOUS;
  };

  const guessesUsedUp = (resetMs: number): Error =>
    tooMany(`${failures.rule.count} wrong credentials from your address within a minute`, resetMs);
  const failed = (call: CallContext, error: unknown): never => {
    countIdToken(call, error);
    if (error instanceof ApiError && error.code === 'credentials_invalid') {
      const guesses = failures.limiter.take(networkOf(call.remoteAddress));
      if (!guesses.allowed) throw guessesUsedUp(guesses.resetMs);
    }
    throw error;
  };
  const countIdToken = (call: CallContext, error: unknown): void => {
    if (error instanceof ApiError && ID_TOKEN_CODES.has(error.code))
      failures.limiter.take(networkOf(call.remoteAddress));
  };
  const beforeLook = (call: CallContext): void => {
    const network = networkOf(call.remoteAddress);
    const guesses = failures.limiter.peek(network);
    if (!guesses.allowed && !secondLooks.limiter.take(network).allowed) throw guessesUsedUp(guesses.resetMs);
  };

  const admit = (call: CallContext): Promise<Caller> | Caller => {
    if (call.rpc.auth === 'none') {
      const isLogin = call.rpc.rateLimit === 'login';
      if (!isLogin) beforeLook(call); // What such a call presents is in its body.
      spend(call, isLogin ? buckets.login : anonymous, networkOf(call.remoteAddress));
      return ANONYMOUS;
    }
    try {
      const caller = authenticator.authenticate(call, () => beforeLook(call));
      if (!(caller instanceof Promise)) return afterwards(call, caller);
      return caller.then(
        (proven) => afterwards(call, proven),
        (error: unknown) => failed(call, error),
      );
    } catch (error) {
      return failed(call, error);
    }
  };
  return { admit, countIdToken };
}

const ID_TOKEN_CODES: ReadonlySet<ErrorCode> = new Set([
  'id_token_invalid',
  'id_token_refused',
  'id_token_used',
]);

function onlyRuns(): Error {
  return apiError(
    'id_token_refused',
    'a job of a CI system may report its own run at /ci/runs, and nothing else; use an API key',
  );
}

function missing(): Error {
  return apiError(
    'credentials_missing',
    'no credential was sent; send "Authorization: Bearer <API key or session token>"',
    {
      headers: { 'www-authenticate': 'Bearer realm="svc"' },
    },
  );
}
