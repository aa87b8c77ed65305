/** Waits for the end of something that goes on by itself, by looking at it again and again. */
import type { CallOptions } from './core/client.ts';
import { SvcApiError, SvcTimeoutError } from './core/errors.ts';
import { refuseUnknown } from './core/known-names.ts';
import { CALL_OPTIONS } from './core/params.ts';
import type { Runtime } from './core/runtime.ts';
import { sleep } from './core/scope.ts';

export const POLL_INTERVAL_MS = 2_000;
export const POLL_TIMEOUT_MS = 30 * 60_000;

export interface Wait<T> {
  /** Options of the call that makes it, which is part of the wait. */
  readonly options: CallOptions;
  readonly runtime: Runtime;
  readonly intervalMs: number;
  readonly timeoutMs: number;
  start(): PromiseLike<T>;
  /** Looks again. */
  look(known: T, options: CallOptions): PromiseLike<T>;
  goesOn(known: T): boolean;
  /** Writes `build bld_1 is running`. */
  describe(known: T): string;
  /** Advice to the caller when the time is over. */
  readonly afterwards: string;
}

/**
 * Resolves with it as it is when it no longer goes on. It goes on whatever happens to the wait: a timeout, an
 * abort or a service that is away cancels nothing.
 */
export async function waitForEnd<T>(wait: Wait<T>): Promise<T> {
  const { options, runtime, intervalMs, timeoutMs } = wait;
  const { idempotencyKey: _used, ...forReads } = options;
  const endAt = runtime.now() + timeoutMs;
  let known = await wait.start();
  while (wait.goesOn(known)) {
    const what = wait.describe(known);
    const leftMs = endAt - runtime.now();
    if (leftMs <= 0)
      throw new SvcTimeoutError(`${what} after ${timeoutMs} ms; it goes on, ${wait.afterwards}`);
    const label = `the wait while ${what}`;
    await sleep(Math.min(intervalMs, leftMs), { label, signal: options.signal, runtime });
    try {
      known = await wait.look(known, forReads);
    } catch (error) {
      // The time limit above ends a wait for a service that stays away.
      if (!(error instanceof SvcApiError && error.retryable)) throw error;
    }
  }
  return known;
}

/** Refuses what is neither an option of a call nor one of these of the wait. */
export function checkWaitOptions(where: string, given: object, own: readonly string[]): void {
  refuseUnknown(given, { where, known: [...own, ...CALL_OPTIONS] });
}

export function checkMs(name: string, value: number, min: number): void {
  if (!Number.isFinite(value) || value < min)
    throw new TypeError(`${name} is ${value}, expected a number of milliseconds from ${min}`);
}
