/** Makes a call that those who make it while it is under way share, with its answer. */
export function sharedCall<T>(call: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return async () =>
    await (running ??= call().finally(() => {
      running = undefined;
    }));
}
