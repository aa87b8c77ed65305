/**
 * Tells followers in this process that something about an item changed, so that output shows up at once where
 * it was stored. Followers at other servers notice by reading again; this saves them nothing and costs them
 * nothing.
 */
import { waitUntil } from '@svc/proto/process/wait.ts';

export interface Wake {
  notify(workId: string): void;
  /** Resolves when the item is notified, after `ms`, or when the signal aborts, whichever comes first. */
  wait(workId: string, ms: number, signal: AbortSignal): Promise<void>;
}

export function createWake(): Wake {
  const waiters = new Map<string, Set<() => void>>();
  return {
    notify: (workId) => {
      for (const wakeUp of waiters.get(workId) ?? []) wakeUp();
    },
    wait: async (workId, ms, signal) =>
      await waitUntil(ms, signal, (done) => {
        const mine = waiters.get(workId) ?? new Set();
        waiters.set(workId, mine.add(done));
        return () => {
          mine.delete(done);
          if (mine.size === 0 && waiters.get(workId) === mine) waiters.delete(workId);
        };
      }),
  };
}
