/**
 * Tracks whether the control plane serves runners at present. It does not when the platform feature is off or
 * the address is wrong: on purpose both look like an unknown route, and the runner can mend neither. So it
 * keeps its state, asks at growing intervals, and resumes by itself.
 *
 *   served ── unknown route on heartbeat or poll ──→ away ── an answer to either ──→ served
 *
 * The main thread owns it; the heartbeat thread reports its answers to it.
 */
import { monotonicMs, pause, wallMs } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';

export type Asker = 'heartbeat' | 'poll';

/** Written to the state file; the times are of the wall clock. */
export interface Away {
  since: string;
  nextTryAt: string;
}

export interface PresenceOptions {
  log: Log;
  /** Runs after every change of what `away` says. */
  onChange: () => void;
  /** Runs when the control plane serves runners again. */
  onBack: () => void;
}

export function createPresence(options: PresenceOptions) {
  let sinceMs: number | undefined;
  let begunMs = 0;
  const nextMs = new Map<Asker, number>();
  /** These callers of `pause` wait for the end of the absence. */
  const sleepers = new Set<() => void>();
  return {
    /** The control plane knows no such route; the asker tries again after so long. */
    unserved(asker: Asker, nextInMs: number) {
      nextMs.set(asker, wallMs() + nextInMs);
      if (sinceMs === undefined) {
        sinceMs = wallMs();
        begunMs = monotonicMs();
        options.log.warn(
          {},
          `the control plane serves no runners here at present: the platform feature host.runners may be switched off, or baseUrl is wrong; state is kept, next try in ${seconds(nextInMs)} s`,
        );
      }
      options.onChange();
    },
    /**
     * It answered one of them. A call that was sent before the absence was noticed proves nothing about it.
     */
    served(sentMonotonicMs: number) {
      if (sinceMs === undefined || sentMonotonicMs < begunMs) return;
      sinceMs = undefined;
      nextMs.clear();
      options.log.info(
        { awaySeconds: seconds(monotonicMs() - begunMs) },
        'the control plane serves runners here again; going on',
      );
      for (const wake of sleepers) wake();
      options.onBack();
      options.onChange();
    },
    get away() {
      if (sinceMs === undefined) return undefined;
      const next = Math.min(...nextMs.values());
      return { since: new Date(sinceMs).toISOString(), nextTryAt: new Date(next).toISOString() };
    },
    /** Waits like `pause`, at most until the control plane serves runners again. */
    async pause(ms: number, signal?: AbortSignal) {
      const back = new AbortController();
      const wake = () => back.abort();
      sleepers.add(wake);
      signal?.addEventListener('abort', wake);
      if (signal?.aborted === true) wake();
      await pause(ms, back.signal);
      signal?.removeEventListener('abort', wake);
      sleepers.delete(wake);
    },
  };
}

export type Presence = ReturnType<typeof createPresence>;

function seconds(ms: number): number {
  return Math.max(1, Math.round(ms / 1000));
}
