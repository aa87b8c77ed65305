/**
 * Waits for a run to end by asking for its state, sooner at first and then every two seconds. The run itself is not
 * touched. What must hold: the wait survives a control plane that is away for a while, and ends at once on Ctrl-C and at
 * its deadline.
 */
import { SandboxRuns, SvcAbortError, SvcApiError, type SandboxRun } from '@svc/sdk';
import type { Context } from '../shell/command.ts';
import { describeRun, isOver } from './outcome.ts';

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

/** The run when it ended, or as it was last seen when the patience did. */
export async function watchRun(context: Context, start: SandboxRun, patient: Patience): Promise<SandboxRun> {
  const { io, output } = context;
  const runs = new SandboxRuns(await context.client());
  let run = start;
  let shown = '';
  let intervalMs = INTERVAL_FIRST_MS;
  let seenAt = io.now();
  while (!isOver(run)) {
    if (run.state !== shown) await output.progress(describeRun(run));
    shown = run.state;
    await io.pause(intervalMs, patient.signal);
    io.interrupted.throwIfAborted();
    if (patient.isOver()) return run;
    intervalMs = Math.min(INTERVAL_MAX_MS, intervalMs * INTERVAL_GROWTH);
    try {
      run = await runs.get(run.id, { signal: patient.signal });
      seenAt = io.now();
    } catch (error) {
      if (error instanceof SvcAbortError && patient.isOver()) return run;
      const passing = error instanceof SvcApiError && error.retryable && io.now() - seenAt < OUTAGE_MAX_MS;
      if (!passing) throw error;
      await output.progress(`waiting for an answer: ${error.message}`);
    }
  }
  return run;
}
