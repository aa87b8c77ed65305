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

/**
 * Returns how it ends. Only while the page is in view: a browser has six connections to a server over HTTP/1.1, and forgotten tabs
 * would take them all.
 */
export function followChanges(): () => void {
  let following: AbortController | undefined;
  const end = (): void => {
    following?.abort();
    following = undefined;
    live.value = false;
  };
  const onVisibility = (): void => {
    if (document.visibilityState === 'hidden') end();
    else if (following === undefined) {
      following = new AbortController();
      void run(following.signal);
    }
  };
  document.addEventListener('visibilitychange', onVisibility);
  onVisibility();
  return () => {
    document.removeEventListener('visibilitychange', onVisibility);
    end();
  };
}

async function run(ending: AbortSignal): Promise<void> {
  let pauseMs = PAUSE_FIRST_MS;
  for (;;) {
    try {
      // Without retries of its own: those would hide from us that the connection was lost.
      for await (const _event of platformFeatures.watch({}, { signal: ending, maxRetries: 0 })) {
        pauseMs = PAUSE_FIRST_MS;
        live.value = true;
        await list.load();
      }
    } catch (error) {
      // The page shows the sign-in form, and comes back to us afterwards.
      if (isUnauthenticated(error)) return;
      if (!ending.aborted) list.doubt(error);
    }
    if (ending.aborted) return;
    live.value = false;
    await pause(pauseMs * (0.5 + Math.random() / 2), ending);
    if (ending.aborted) return;
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
