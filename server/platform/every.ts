/** Small jobs that repeat: one run at a time, errors told and survived, stopped by its owner. */

export interface Repeating {
  /** Resolves when the run at work has ended. */
  stop(): Promise<void>;
}

/** First run after one period. */
export function every(
  periodMs: number,
  work: () => Promise<unknown>,
  onError: (error: unknown) => void,
): Repeating {
  let running: Promise<unknown> = Promise.resolve();
  let busy = false;
  const timer = setInterval(() => {
    if (busy) return; // A slow run is not joined by another one.
    busy = true;
    running = work()
      .catch(onError)
      .finally(() => {
        busy = false;
      });
  }, periodMs);
  timer.unref();
  return {
    stop: async () => {
      clearInterval(timer);
      await running;
    },
  };
}
