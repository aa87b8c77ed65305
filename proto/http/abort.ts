/** Waits in ways that an AbortSignal can end. */
import type { NodeResponse } from './reply.ts';

/** Resolves when the socket takes more. */
export async function drained(response: NodeResponse, signal: AbortSignal): Promise<void> {
  let onDrain = (): void => {};
  const drain = new Promise<void>((resolve) => {
    onDrain = resolve;
    response.once('drain', onDrain);
  });
  try {
    await unlessAborted(drain, signal);
  } finally {
    response.off('drain', onDrain);
  }
}

/**
 * Returns the promise, or rejects with the signal's reason if that comes first. It is not Promise.race
 * against one long-lived promise, which would keep a reaction for every message of a stream until its end.
 */
export async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  let onAbort = (): void => {};
  try {
    return await new Promise<T>((resolve, reject) => {
      onAbort = () => reject(signal.reason as Error);
      if (signal.aborted) onAbort();
      else signal.addEventListener('abort', onAbort, { once: true });
      promise.then(resolve, reject);
    });
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
