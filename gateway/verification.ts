/**
 * This file finds who calls: the signer, or nobody yet (at enrollment, whose token is the server's to judge).
 *
 * Checks come in the order of cost: form of the head, limits by address, key (cached), then with the whole
 * body its digest and the Ed25519 signature, then the nonce. What must hold: a caller who cannot sign with an
 * enrolled key learns only that the signature is missing, invalid, or of an unknown key (a poll of one is
 * empty); `clock_skew`, `replayed` and `runner_revoked` are told after the signature verified. The nonce goes
 * to the server with the call that carries the request out, which has no effect unless the nonce could be
 * stored. (A poll takes its place here before that: one that is replayed at another gateway can make an older
 * poll of the same runner come back empty, and no more.)
 *
 *
 */
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { NonceSchema } from '@svc/proto/gen/svc/dispatch/v1/dispatch_pb.ts';
import { RunnerService } from '@svc/proto/gen/svc/runner/v1/runner_pb.ts';
import { networkOf } from '@svc/proto/http/address.ts';
import type { CallContext } from '@svc/proto/http/call.ts';
import { apiError, ApiError, type ErrorCode } from '@svc/proto/http/errors.ts';
import { factsFromNodeRequest, type AuthoritySet } from '@svc/proto/signature/facts.ts';
import type { SignatureProblem } from '@svc/proto/signature/profile.ts';
import { parseSignature, verifySignature, type ParsedSignature } from '@svc/proto/signature/verify.ts';
import type { Logger } from 'pino';
import type { Clock } from '@svc/proto/process/clock.ts';
import type { KeyCache, RunnerKey } from './key-cache.ts';
import type { Metrics } from './metrics.ts';
import { NonceWindow } from './nonce-window.ts';
import {
  createRateLimiter,
  type RateLimiter,
  type RateRule,
  type RateState,
} from '@svc/proto/process/token-bucket.ts';

/** A runner whose key is known; its signature is verified once `signature` is gone. */
export interface VerifiedRunner {
  readonly kind: 'runner';
  readonly key: RunnerKey;
  /** The head was there at this time of the monotonic clock. */
  readonly receivedMs: number;
  signature: ParsedSignature | undefined;
  /**
   * The nonce is for the first call to the server; it is there from when the signature is verified until
   * then.
   */
  nonce: Nonce | undefined;
}

export type Nonce = MessageInitShape<typeof NonceSchema>;

export interface Enrolling {
  readonly kind: 'enrolling';
}

/** A poll whose key no runner has: it gets no work, and its heartbeat says why. */
export interface UnknownRunner {
  readonly kind: 'unknown';
}

export type GatewayCaller = VerifiedRunner | Enrolling | UnknownRunner;

export interface VerificationLimits {
  /** Refused signatures by network. */
  readonly failures: RateRule;
  /** Looks at keys that have not verified from a network before, once it is past its failures. */
  readonly secondLooks: RateRule;
  /** Enrollments by network. */
  readonly enrollments: RateRule;
  /** Verified calls by runner. */
  readonly calls: RateRule;
}

export const VERIFICATION_LIMITS: VerificationLimits = {
  failures: { count: 60, windowMs: 60_000 },
  secondLooks: { count: 100, windowMs: 50_000 },
  enrollments: { count: 1_000, windowMs: 100_000 },
  calls: { count: 10_000, windowMs: 5_000 },
};

export interface VerificationDeps {
  readonly keys: KeyCache;
  readonly authorities: () => AuthoritySet;
  /** It is true where X-Forwarded-Host from this peer counts. */
  readonly isTrustedProxy: (address: string) => boolean;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly limits: VerificationLimits;
}

/** One text for each code, so that answers of one code do not differ in anything but the request id. */
const MESSAGES = {
  signature_missing:
    'request is not signed: it needs signature-input, signature and content-digest of the runner protocol',
  signature_invalid: 'request signature is not valid for this request; sign it as the runner protocol says',
  key_unknown: 'signing key belongs to no enrolled runner of this id; enroll the runner',
  replayed: 'nonce was used before; sign every attempt with a fresh one',
  clock_skew:
    'signature time is outside of the accepted window of 60 s back and 30 s ahead; correct by details.serverTime',
  runner_revoked: 'runner was revoked; it gets no work and its leases are void',
} as const satisfies Partial<Record<ErrorCode, string>>;

export function revokedError(): ApiError {
  return apiError('runner_revoked', MESSAGES.runner_revoked);
}

/**
 * The key is of no runner, or of another one than the path names: one answer, so that nobody learns which ids
 * exist.
 */
export function keyUnknownError(): ApiError {
  return apiError('key_unknown', MESSAGES.key_unknown);
}

export class Verification {
  readonly #deps: VerificationDeps;
  readonly #nonces: NonceWindow;
  readonly #limiters: Readonly<Record<keyof VerificationLimits, RateLimiter>>;

  constructor(deps: VerificationDeps) {
    this.#deps = deps;
    this.#nonces = new NonceWindow(deps.clock);
    const limiter = (name: keyof VerificationLimits) => createRateLimiter(deps.limits[name], deps.clock);
    this.#limiters = {
      failures: limiter('failures'),
      secondLooks: limiter('secondLooks'),
      enrollments: limiter('enrollments'),
      calls: limiter('calls'),
    };
  }

  /** Decides from the head alone. */
  async admit(call: CallContext): Promise<GatewayCaller> {
    if (call.rpc.auth === 'enrollment_token') {
      const waitMs = untilAllowed(this.#limiters.enrollments.take(networkOf(call.remoteAddress)));
      if (waitMs > 0) throw this.#limited('enrollments from this address', waitMs);
      return { kind: 'enrolling' };
    }
    const receivedMs = this.#deps.clock.monotonicMs();
    const facts = factsFromNodeRequest(call.request, {
      forwardedHostTrusted: this.#deps.isTrustedProxy(call.request.socket.remoteAddress ?? ''),
    });
    const signature = parseSignature(facts, {
      authorities: this.#deps.authorities(),
      nowMs: this.#deps.clock.now().getTime(),
    });
    this.#checkFailures(call, signature);
    if (!signature.ok) throw this.#refuse(call, signature.reason, signature.detail);
    const key = await this.#deps.keys.find(signature.keyid);
    if (key === undefined) {
      const refusal = this.#refuse(call, 'key_unknown', `no runner has the key ${signature.keyid}`);
      if (isPoll(call)) return { kind: 'unknown' };
      throw refusal;
    }
    return { kind: 'runner', key, receivedMs, signature, nonce: undefined };
  }

  /** With the body as it was sent. */
  async admitBody(call: CallContext, caller: GatewayCaller, body: Uint8Array): Promise<void> {
    if (caller.kind !== 'runner' || caller.signature === undefined) return;
    const { key, signature } = caller;
    const end = this.#deps.metrics.verifySeconds.startTimer();
    const verified = await verifySignature(signature, key.publicKey, body);
    const genuine = verified.ok || verified.reason === 'clock_skew';
    if (genuine) key.verifiedFrom = networkOf(call.remoteAddress);
    // Cached keys are marked when a revocation is heard of, also since the head came.
    if (genuine && key.revoked) throw this.#told('runner_revoked');
    if (!verified.ok) throw this.#refuse(call, verified.reason, verified.detail);
    const waitMs = untilAllowed(this.#limiters.calls.take(key.runnerId));
    if (waitMs > 0) throw this.#limited('calls of this runner', waitMs);
    const { keyid, nonce, created } = signature;
    if (!this.#nonces.add(keyid, nonce))
      throw this.#refuse(call, 'replayed', `nonce ${nonce} of key ${keyid} was used before`);
    caller.nonce = { keyId: keyid, nonce, created: timestampFromMs(created * 1000) };
    caller.signature = undefined;
    end();
  }

  /**
   * Returns the error that answers a call that failed: the server may know its nonce from another gateway.
   */
  judge(call: CallContext, thrown: unknown): unknown {
    if (!(thrown instanceof ApiError && thrown.code === 'replayed')) return thrown;
    return this.#refuse(call, 'replayed', thrown.message);
  }

  /**
   * Past the limit of its network, a request is looked at if its key verified from there before; of others a
   * few, so that one broken or hostile machine neither locks out the rest behind the same address nor has
   * this gateway work without end.
   */
  #checkFailures(call: CallContext, signature: ParsedSignature | SignatureProblem): void {
    const network = networkOf(call.remoteAddress);
    const waitMs = untilAllowed(this.#limiters.failures.peek(network));
    if (waitMs === 0) return;
    if (signature.ok && this.#deps.keys.peek(signature.keyid)?.verifiedFrom === network) return;
    if (signature.ok && this.#limiters.secondLooks.take(network).allowed) return;
    throw this.#limited('refused signatures from this address', waitMs);
  }

  #refuse(call: CallContext, code: keyof typeof MESSAGES, detail: string): ApiError {
    if (code !== 'clock_skew') this.#limiters.failures.take(networkOf(call.remoteAddress));
    const { rpc, requestId, remoteAddress } = call;
    this.#deps.log.warn({ rpc: rpc.id, requestId, remoteAddress, code, detail }, 'signature refused');
    return this.#told(code);
  }

  #told(code: keyof typeof MESSAGES): ApiError {
    this.#deps.metrics.refusals.inc({ code });
    if (code !== 'clock_skew') return apiError(code, MESSAGES[code]);
    return apiError(code, MESSAGES.clock_skew, {
      details: { serverTime: this.#deps.clock.now().toISOString() },
    });
  }

  #limited(what: string, waitMs: number): ApiError {
    this.#deps.metrics.refusals.inc({ code: 'rate_limited' });
    return apiError('rate_limited', `too many ${what}; the next is accepted in ${waitMs} ms`, {
      retryAfterMs: waitMs,
    });
  }
}

function isPoll({ rpc: { desc } }: CallContext): boolean {
  return desc === RunnerService.method.poll || desc === RunnerService.method.buildPoll;
}

/** 0 while calls are allowed. */
function untilAllowed({ allowed, resetMs }: RateState): number {
  return allowed ? 0 : Math.ceil(resetMs);
}
