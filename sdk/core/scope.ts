/**
 * This file holds the time limits of one attempt: the caller's signal and a timer, both ending in one abort.
 *
 * `race` also settles when the injected `fetch` ignores its signal, so no call can outlive its limit. `close`
 * must be called on every way out: it takes back the timer and the listener on the caller's signal.
 */
import { SvcAbortError, SvcTimeoutError, type SvcApiError } from './errors.ts';
import type { Runtime } from './runtime.ts';

export interface Scope {
  /** Signal for `fetch`. */
  readonly signal: AbortSignal;
  /** Settles like `promise`, or rejects with the abort or timeout, whichever comes first. */
  race<T>(promise: Promise<T>): Promise<T>;
  /** Starts the timer anew with another limit. */
  restart(limitMs: number): void;
  /** Stops the timer until `restart`. */
  pause(): void;
  close(): void;
}

export interface ScopeOptions {
  readonly label: string;
  readonly signal: AbortSignal | undefined;
  readonly limitMs: number;
  readonly runtime: Runtime;
}

export function openScope(options: ScopeOptions): Scope {
  const { label, signal, runtime } = options;
  const controller = new AbortController();
  let end: (error: SvcApiError) => void = () => undefined;
  const ended = new Promise<never>((_resolve, reject) => {
    end = (error) => {
      reject(error);
      controller.abort(error);
    };
  });
  // Nobody may be racing when the limit is reached; the next race sees the rejection.
  ended.catch(() => undefined);

  const startTimer = (limitMs: number): (() => void) =>
    runtime.timer(limitMs, () => end(new SvcTimeoutError(`${label} got no answer within ${limitMs} ms`)));
  const onAbort = (): void => end(abortError(label, signal));
  let cancelTimer = startTimer(options.limitMs);
  signal?.addEventListener('abort', onAbort, { once: true });
  if (signal?.aborted === true) onAbort();

  return {
    signal: controller.signal,
    race: (promise) => Promise.race([ended, promise]),
    restart: (limitMs) => {
      cancelTimer();
      cancelTimer = startTimer(limitMs);
    },
    pause: () => cancelTimer(),
    close: () => {
      cancelTimer();
      signal?.removeEventListener('abort', onAbort);
    },
  };
}

export function abortError(label: string, signal: AbortSignal | undefined): SvcAbortError {
  return new SvcAbortError(`${label} was aborted`, { cause: signal?.reason });
}

/** Waits, and rejects at once when the signal is aborted. */
export function sleep(ms: number, options: Omit<ScopeOptions, 'limitMs'>): Promise<void> {
  const { label, signal, runtime } = options;
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      cancelTimer();
      reject(abortError(label, signal));
    };
    const cancelTimer = runtime.timer(ms, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
    if (signal?.aborted === true) onAbort();
  });
}
