/**
 * The end of this process comes by three signals, each implying those before it:
 *
 *   stopTaking  first SIGTERM or SIGINT: no new work; what runs is finished
 *   cancelWork  second one, or the drain time is over: running tasks are killed and go back to the queue
 *   abandon     the last results had their time; what is not delivered waits on the disk
 *
 * The exit code is set once: by the first reason to end.
 */
import { setMaxListeners } from 'node:events';

export const EXIT = { ok: 0, failed: 1, usage: 2, revoked: 5, superseded: 6, outdated: 7 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export function createShutdown() {
  const [stopTaking, cancelWork, abandon] = [
    new AbortController(),
    new AbortController(),
    new AbortController(),
  ];
  // Every run and every pending call listens; Node would take that for a leak.
  setMaxListeners(0, stopTaking.signal, cancelWork.signal, abandon.signal);
  let exitCode: ExitCode = EXIT.ok;
  const begun = new Promise<void>((resolve) =>
    stopTaking.signal.addEventListener('abort', () => resolve(), { once: true }),
  );
  const cancel = () => {
    stopTaking.abort();
    cancelWork.abort();
  };
  return {
    stopTaking: stopTaking.signal,
    cancelWork: cancelWork.signal,
    abandon: abandon.signal,
    get exitCode() {
      return exitCode;
    },
    /** Resolves at the first reason to end. */
    begun,
    /** Takes a signal from outside: the first drains, the second cancels. */
    request() {
      if (stopTaking.signal.aborted) {
        cancel();
        return 'cancel';
      }
      stopTaking.abort();
      return 'drain';
    },
    cancel,
    giveUp() {
      cancel();
      abandon.abort();
    },
    /** Kills what runs and ends with this code. */
    fail(code: ExitCode) {
      if (exitCode === EXIT.ok) exitCode = code;
      cancel();
    },
  };
}

export type Shutdown = ReturnType<typeof createShutdown>;
