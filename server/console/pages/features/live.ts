/**
 * Follows changes that other people make. The stream says only that something changed, so each event has the list read again; so
 * does the first event of a new connection, because nobody knows what was missed. Runs while the page is open.
 */
import { signal } from '@preact/signals';
import { isUnauthenticated, platformFeatures } from '../../api.ts';
import { list } from './feature-store.ts';

const PAUSE_FIRST_MS = 500;
const PAUSE_MAX_MS = 15_000;

export const live = signal(false);

/** Returns how it ends. */
export function followChanges(): () => void {
  const ending = new AbortController();
  void run(ending.signal);
  return () => {
    ending.abort();
    live.value = false;
  };
}

async function run(ending: AbortSignal): Promise<void> {
  let pauseMs = PAUSE_FIRST_MS;
  while (!ending.aborted) {
    try {
      // Without retries of its own: those would hide from us that the connection was lost.
      for await (const _event of platformFeatures.watch({}, { signal: ending, maxRetries: 0 })) {
        pauseMs = PAUSE_FIRST_MS;
        live.value = true;
        await list.load();
      }
    } catch (error) {
      // The page shows the sign-in form, and comes back to us afterwards.
      if (ending.aborted || isUnauthenticated(error)) return;
      list.doubt(error);
    }
    live.value = false;
    await pause(pauseMs * (0.5 + Math.random() / 2), ending);
    pauseMs = Math.min(PAUSE_MAX_MS, pauseMs * 2);
  }
}

/** Ends early with the page, and when the machine says that it is online again. */
async function pause(ms: number, ending: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const done = (): void => {
      window.clearTimeout(timer);
      window.removeEventListener('online', done);
      resolve();
    };
    const timer = window.setTimeout(done, ms);
    window.addEventListener('online', done, { once: true });
    ending.addEventListener('abort', done, { once: true });
  });
}
