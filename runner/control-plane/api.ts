/**
 * Signed calls. One attempt is one signature with a fresh nonce; a `clock_skew` answer corrects the shared
 * clock offset and is followed by exactly one more attempt. `callUntilAnswered` repeats until the control
 * plane gave a definite answer.
 */
import { createNonce, type SigningKey } from '@svc/proto/signature/keys.ts';
import { signRequest, targetOfUrl } from '@svc/proto/signature/sign.ts';
import {
  judgeOffset,
  offsetFromDateField,
  offsetFromServerTime,
  signingSeconds,
} from '@svc/proto/signature/skew.ts';
import { nextDelayMs, unservedDelayMs } from './backoff.ts';
import { pause, wallMs, type ClockOffset } from '../platform/clock.ts';
import { type HttpClient, type HttpReply, TransportError } from './http-client.ts';
import { callsTogether } from './calls-together.ts';
import type { Log } from '../platform/log.ts';
import type { Presence } from './presence.ts';
import { CallError, judgeReply, judgeTransport, type Failure } from './retryable.ts';
import { wireJson, type CallName, type Calls } from './wire.ts';

const MEBIBYTE = 1_048_576;
/** An offer carries up to 128 variables of 32 KiB, each byte of which may take six characters in JSON. */
const replyBytesMax = (name: CallName): number => (name.endsWith('poll') ? 32 : 1) * MEBIBYTE;
/** Gives the time limit of one attempt, to which a poll adds its waiting time. */
const attemptMs = (name: CallName): number =>
  name === 'heartbeat' || name.endsWith('poll') ? 10_000 : 20_000;

export interface ApiOptions {
  baseUrl: string;
  runnerId: string;
  key: Pick<SigningKey, 'privateKey' | 'keyid'>;
  http: HttpClient;
  offset: ClockOffset;
  log: Log;
}

export interface CallOptions {
  signal?: AbortSignal;
  /** Overrides the time of one attempt. */
  timeoutMs?: number;
}

export interface Answer<T> {
  value: T;
  /** When the answered attempt was sent, on the monotonic clock. */
  sentMonotonicMs: number;
}

export interface RetryOptions extends CallOptions {
  /** Runs after every failed attempt that will be repeated. */
  onFailure?: (failure: Failure, failures: number) => void;
  /** Waits at most until the control plane serves runners again. */
  presence?: Pick<Presence, 'pause'>;
}

export interface Api {
  /** Makes one call; rejects with CallError. */
  call<N extends CallName>(
    name: N,
    body: Calls[N]['request'],
    options?: CallOptions,
  ): Promise<Answer<Calls[N]['reply']>>;
  /**
   * Repeats while the verdict is `retry`; rejects with a CallError of any other verdict. `body` is asked anew
   * for each attempt.
   */
  callUntilAnswered<N extends CallName>(
    name: N,
    body: () => Calls[N]['request'],
    options?: RetryOptions,
  ): Promise<Answer<Calls[N]['reply']>>;
}

export function createApi(options: ApiOptions): Api {
  const base = options.baseUrl.replace(/\/+$/, '');

  const attempt = async (name: CallName, body: object, call: CallOptions): Promise<HttpReply> => {
    const url = new URL(`${base}/runners/${encodeURIComponent(options.runnerId)}/${name}`);
    const bytes = Buffer.from(wireJson(body));
    const contentType = 'application/json';
    const signature = signRequest(
      { method: 'POST', ...targetOfUrl(url), contentType, body: bytes },
      { key: options.key, created: signingSeconds(wallMs(), options.offset.get()), nonce: createNonce() },
    );
    return await options.http.send({
      method: 'POST',
      url,
      headers: { 'content-type': contentType, ...signature },
      body: bytes,
      timeoutMs: call.timeoutMs ?? attemptMs(name),
      bytesMax: replyBytesMax(name),
      ...(call.signal === undefined ? {} : { signal: call.signal }),
    });
  };

  const once = async (
    name: CallName,
    body: object,
    call: CallOptions,
  ): Promise<Answer<object> | { failure: Failure; reply?: HttpReply }> => {
    let reply: HttpReply;
    try {
      reply = await attempt(name, body, call);
    } catch (error) {
      return { failure: judgeTransport(error) };
    }
    const judged = judgeReply(reply);
    if ('failure' in judged) return { failure: judged.failure, reply };
    return { value: judged.value, sentMonotonicMs: reply.sentMonotonicMs };
  };

  const call = async (
    name: CallName,
    body: object,
    callOptions: CallOptions = {},
  ): Promise<Answer<object>> => {
    let result = await once(name, body, callOptions);
    if ('failure' in result && result.failure.verdict === 'skew' && result.reply !== undefined) {
      const problem = correctClock(options, result.failure, result.reply);
      if (problem !== undefined)
        throw new CallError({ ...result.failure, verdict: 'retry', message: problem });
      result = await once(name, body, callOptions);
    }
    if (!('failure' in result)) return result;
    // It is still skewed after the correction: an odd answer or a jumping clock. A later call may succeed.
    const { failure } = result;
    throw new CallError(failure.verdict === 'skew' ? { ...failure, verdict: 'retry' } : failure);
  };

  const together = callsTogether(call);
  return {
    // The reply's fields are all optional in its type: an unexpected shape shows up as absent fields.
    call: async (name, body, callOptions) => (await together(name, body, callOptions)) as Answer<never>,
    async callUntilAnswered(name, body, retry = {}) {
      for (let failures = 1; ; failures += 1) {
        try {
          return (await together(name, body(), retry)) as Answer<never>;
        } catch (error) {
          if (!(error instanceof CallError) || error.failure.verdict !== 'retry') throw error;
          retry.onFailure?.(error.failure, failures);
          if (error.failure.unserved === true)
            await (retry.presence?.pause ?? pause)(unservedDelayMs(failures), retry.signal);
          else await pause(nextDelayMs(failures, error.failure.retryAfterMs), retry.signal);
          if (retry.signal?.aborted === true) throw abortedError(error);
        }
      }
    },
  };
}

function abortedError(cause: unknown): CallError {
  return new CallError(judgeTransport(new TransportError('aborted', 'gave up: stopping')), cause);
}

/** Takes the offset from a `clock_skew` answer; returns why it is not believed. */
function correctClock(options: ApiOptions, failure: Failure, reply: HttpReply): string | undefined {
  const serverTime = failure.details?.['serverTime'];
  const serverMs = typeof serverTime === 'string' ? Date.parse(serverTime) : Number.NaN;
  const offsetMs = Number.isNaN(serverMs)
    ? offsetFromDateField(reply.headers.date, reply)
    : offsetFromServerTime(serverMs, reply);
  if (offsetMs === undefined)
    return 'clock_skew: the server refuses this clock and does not send its own time';
  const verdict = judgeOffset(offsetMs, { enrolling: false });
  if (verdict === 'refuse') {
    return `clock_skew: our clock differs from the server's by ${Math.round(offsetMs / 1000)} s, more than a day; set this machine's clock`;
  }
  if (verdict === 'use_and_log' && Math.abs(offsetMs - options.offset.get()) > 1_000) {
    options.log.warn(
      { offsetMs },
      "this machine's clock is wrong; requests are signed with the server's time, please set the clock",
    );
  }
  options.offset.set(offsetMs);
  return undefined;
}
