/**
 * Decides what ends a build: the deadline, the team, a lost lease and a failure of its own race for one
 * variable, and the first to write it wins. This file owns that variable and the one timer of the deadline.
 *
 *   running ── stop(reason, grace) ──→ `term` aborted ── after the grace ──→ `kill` aborted
 */
import { setMaxListeners } from 'node:events';
import { monotonicMs } from '../platform/clock.ts';
import type { KillReason } from '../executor/executor.ts';

/** Time from SIGTERM to SIGKILL when the deadline is over. */
const TIMEOUT_GRACE_MS = 5_000;

export type StopReason = KillReason | 'timeout';

/** A waiting call rejects with it when the build was stopped. The reason is in `control.cause`. */
export class BuildStopped extends Error {
  override readonly name = 'BuildStopped';
}

export function createControl(timeoutMs: number) {
  const [term, kill] = [new AbortController(), new AbortController()];
  setMaxListeners(0, term.signal, kill.signal);
  let cause: StopReason | undefined;
  let killAtMs = Number.POSITIVE_INFINITY;
  let killTimer: NodeJS.Timeout | undefined;
  const deadline = setTimeout(() => stop('timeout', TIMEOUT_GRACE_MS), timeoutMs);
  const stop = (reason: StopReason, graceMs: number) => {
    cause ??= reason;
    const atMs = monotonicMs() + graceMs;
    if (atMs < killAtMs) {
      killAtMs = atMs;
      clearTimeout(killTimer);
      killTimer = setTimeout(() => kill.abort(), graceMs);
    }
    term.abort();
  };
  const check = () => {
    if (cause !== undefined) throw new BuildStopped(`stopped: ${cause}`);
  };
  return {
    get cause() {
      return cause;
    },
    /** Aborted when what runs must end by SIGTERM. */
    term: term.signal,
    /** Aborted when what runs must end by SIGKILL. */
    kill: kill.signal,
    /** This stops the build for the first reason; a later call can only shorten the grace. */
    stop,
    /** Throws BuildStopped when the build was stopped. */
    check,
    /** Rejects with BuildStopped as soon as the build is stopped. */
    async race<T>(promise: Promise<T>): Promise<T> {
      check();
      let onAbort: () => void = () => undefined;
      const stopped = new Promise<never>((_resolve, reject) => {
        onAbort = () => reject(new BuildStopped(`stopped: ${cause}`));
        term.signal.addEventListener('abort', onAbort);
      });
      try {
        return await Promise.race([promise, stopped]);
      } finally {
        term.signal.removeEventListener('abort', onAbort);
      }
    },
    /** Clears the timers. */
    end() {
      clearTimeout(deadline);
      clearTimeout(killTimer);
    },
  };
}

export type BuildControl = ReturnType<typeof createControl>;
