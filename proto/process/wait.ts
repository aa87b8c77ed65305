/**
 * Resolves when whoever `listen` registers with calls `done`, after `ms`, or when the signal is aborted,
 * whichever comes first. `listen` returns what ends its listening, which is called once.
 */
export async function waitUntil(
  ms: number,
  signal: AbortSignal | undefined,
  listen: (done: () => void) => () => void = () => () => undefined,
): Promise<void> {
  if (signal?.aborted === true) return;
  await new Promise<void>((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      stopListening();
      resolve();
    };
    const timer = setTimeout(done, ms);
    const stopListening = listen(done);
    signal?.addEventListener('abort', done, { once: true });
  });
}
