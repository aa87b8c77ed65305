/**
 * The one place that decides what a failed call means. Everything that does not come from the control plane
 * itself, or that may pass, is tried again; only an answer that carries the control plane's own error code
 * can be final. A wrong clock is never taken for a revocation: each has its own code, and the daemon stops
 * for good on the latter alone.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { UNKNOWN_ROUTE } from '@svc/proto/http/unknown-route.ts';
import { errorCode, errorText } from '../platform/errors.ts';
import { redact } from '../platform/log.ts';
import { TransportError } from './http-client.ts';
import type { ErrorReply } from './wire.ts';

/**
 * `retry`: later, as it is. `skew`: once more at once, with a corrected clock. `refused`: the answer is final
 * for this call. `revoked` and `boot_superseded`: final for the whole process. `aborted`: we ended it
 * ourselves.
 */
export type Verdict = 'retry' | 'skew' | 'refused' | 'revoked' | 'boot_superseded' | 'aborted';

export interface Failure {
  verdict: Verdict;
  /** The control plane's error code, or one of the runner in the same spelling. */
  code: string;
  message: string;
  status?: number;
  retryAfterMs?: number;
  requestId?: string;
  details?: Readonly<Record<string, unknown>>;
  /**
   * Set when the control plane answered that the route is unknown (presence.ts); its other 404 answers do not
   * count.
   */
  unserved?: true;
}

/** An answer after which this process must stop for good. */
export interface FinalRefusal {
  verdict: Extract<Verdict, 'revoked' | 'boot_superseded'>;
  message: string;
}

export class CallError extends Error {
  override readonly name = 'CallError';
  readonly failure: Failure;

  constructor(failure: Failure, cause?: unknown) {
    super(`${failure.message}${failure.requestId === undefined ? '' : ` (request ${failure.requestId})`}`, {
      cause,
    });
    this.failure = failure;
  }
}

/**
 * Statuses that pass by themselves, each with the reason why. All of 5xx belongs to them too: the fault is on
 * the far side.
 */
const RETRYABLE_STATUS: ReadonlyMap<number, string> = new Map([
  [404, 'runners are switched off there, or a proxy routes wrongly: both end without us'],
  [407, 'the proxy wants credentials: somebody can set them while we wait'],
  [408, 'the server or a proxy ran out of patience with this connection'],
  [421, 'the connection was reused for the wrong host: a new one is right'],
  [425, 'sent in early data: a replay after the handshake is right'],
  [429, 'asked to slow down'],
]);

/** Codes that are final or retryable whatever their status. */
const VERDICT_OF_CODE: ReadonlyMap<string, Verdict> = new Map<string, Verdict>([
  ['runner_revoked', 'revoked'],
  ['boot_superseded', 'boot_superseded'],
  ['clock_skew', 'skew'],
  // A proxy sent our request twice and the other copy won: a fresh nonce is right.
  ['replayed', 'retry'],
  // A proxy changed the request, or PUBLIC_URLS lacks the name that we use: somebody can mend it, and work
  // would be lost by giving up.
  ['signature_invalid', 'retry'],
  ['signature_missing', 'retry'],
  // A restored database or a replica that lags may not know us for a while. Revocation has its own code.
  ['key_unknown', 'retry'],
  // The platform feature is off; staff may switch it on again.
  ['feature_disabled', 'retry'],
  // The token stays what it is.
  ['token_invalid', 'refused'],
]);

/** Reads the control plane's error in a reply. It is undefined when the body is not one, whoever wrote it. */
function errorOf(body: Buffer): ErrorReply['error'] | undefined {
  try {
    const parsed: unknown = JSON.parse(body.toString('utf8'));
    if (typeof parsed !== 'object' || parsed === null || !('error' in parsed)) return undefined;
    const { error } = parsed;
    if (typeof error !== 'object' || error === null || !('code' in error) || typeof error.code !== 'string')
      return undefined;
    return error as ErrorReply['error'];
  } catch {
    // The body is not JSON: a proxy or the like has answered.
    return undefined;
  }
}

export interface JudgedReply {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** The parsed body of a success, or why it is none. */
export function judgeReply(reply: JudgedReply): { value: object } | { failure: Failure } {
  const { status } = reply;
  if (status >= 200 && status < 300) {
    const value = parseObject(reply.body);
    if (value !== undefined) return { value };
    return { failure: foreign(reply, `a ${status} answer that is not a JSON object`) };
  }
  const error = errorOf(reply.body);
  if (error === undefined)
    return { failure: foreign(reply, `status ${status} without an error of the control plane`) };
  return { failure: judgeError(status, error, retryAfter(reply.headers['retry-after'])) };
}

/** Says what an error of the control plane means. */
export function judgeError(status: number, error: ErrorReply['error'], retryAfterMs?: number): Failure {
  const byStatus = status >= 500 || RETRYABLE_STATUS.has(status) ? 'retry' : 'refused';
  const verdict = VERDICT_OF_CODE.get(error.code) ?? byStatus;
  return {
    verdict,
    code: error.code,
    message: `${error.code}: ${error.message ?? `status ${status}`}`,
    status,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(error.requestId === undefined ? {} : { requestId: error.requestId }),
    ...(error.details === undefined ? {} : { details: error.details }),
    ...(status === 404 && error.code === 'not_found' && error.message === UNKNOWN_ROUTE
      ? { unserved: true as const }
      : {}),
  };
}

/**
 * Something between us and the control plane answered: a captive portal, a load balancer, a wrong address. It
 * may pass.
 */
function foreign(reply: JudgedReply, what: string): Failure {
  const start = redact(reply.body.toString('utf8', 0, 120)).replace(/\s+/g, ' ');
  const retryAfterMs = retryAfter(reply.headers['retry-after']);
  return {
    verdict: 'retry',
    code: 'foreign_reply',
    message: `${what}; it begins with ${JSON.stringify(start)}; is there a proxy in between, or is the address wrong`,
    status: reply.status,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}

/** No reply at all is always worth another try, except when we ended it ourselves. */
export function judgeTransport(error: unknown): Failure {
  const code = error instanceof TransportError ? error.code : (errorCode(error) ?? 'request_failed');
  return { verdict: code === 'aborted' ? 'aborted' : 'retry', code, message: redact(errorText(error)) };
}

function parseObject(body: Buffer): object | undefined {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    // The body is not JSON; the common case is an HTML page with status 200.
    return undefined;
  }
}

/** Reads seconds or an HTTP date. */
export function retryAfter(value: string | undefined, nowMs: number = Date.now()): number | undefined {
  if (value === undefined) return undefined;
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - nowMs;
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}
