/**
 * Waits for something to end by asking for its state, sooner at first and then every two seconds. The thing
 * itself is not touched. What must hold: the wait survives a control plane that is away for a while, and ends
 * at once on Ctrl-C and at its deadline.
 */
import { SvcAbortError, SvcApiError } from '@svc/sdk';
import type { Context } from '../shell/command.ts';

const INTERVAL_FIRST_MS = 200;
const INTERVAL_MAX_MS = 2_000;
const INTERVAL_GROWTH = 1.5;
/** An outage longer than this ends the wait with the error itself. */
const OUTAGE_MAX_MS = 120_000;

/** `--timeout` as a signal of its own: its end is an outcome (still pending), not a failure. */
export interface Patience {
  readonly signal: AbortSignal;
  readonly isOver: () => boolean;
}

export function patience({ io, globals }: Context): Patience {
  const { timeoutMs } = globals;
  if (timeoutMs === undefined) return { signal: io.interrupted, isOver: () => false };
  const timer = new AbortController();
  void io.pause(timeoutMs, io.interrupted).then(() => timer.abort());
  return { signal: AbortSignal.any([io.interrupted, timer.signal]), isOver: () => timer.signal.aborted };
}

export interface Watched<T> {
  readonly start: T;
  readonly get: (signal: AbortSignal) => Promise<T>;
  readonly isOver: (value: T) => boolean;
  /** The stage is told when it is another than before. */
  readonly stage: (value: T) => string;
  readonly describe: (value: T) => string;
  /** Is shown every value. */
  readonly tell?: (value: T) => Promise<void>;
}

/** Returns the value as it ended, or as it was last seen when the patience ended. */
export async function watch<T>(
  { io, output }: Pick<Context, 'io' | 'output'>,
  { start, get, isOver, stage, describe, tell }: Watched<T>,
  patient: Patience,
): Promise<T> {
  let value = start;
  let shown: string | undefined;
  let intervalMs = INTERVAL_FIRST_MS;
  let seenAt = io.now();
  while (!isOver(value)) {
    if (stage(value) !== shown) await output.progress(describe(value));
    shown = stage(value);
    await tell?.(value);
    await io.pause(intervalMs, patient.signal);
    io.interrupted.throwIfAborted();
    if (patient.isOver()) return value;
    intervalMs = Math.min(INTERVAL_MAX_MS, intervalMs * INTERVAL_GROWTH);
    try {
      value = await get(patient.signal);
      seenAt = io.now();
    } catch (error) {
      if (error instanceof SvcAbortError && patient.isOver()) return value;
      const passing = error instanceof SvcApiError && error.retryable && io.now() - seenAt < OUTAGE_MAX_MS;
      if (!passing) throw error;
      await output.progress(`waiting for an answer: ${error.message}`);
    }
  }
  return value;
}
