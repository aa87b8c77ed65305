/**
 * Limits how much work this runner does at a time. A slot is taken before work is asked for, so an offer
 * always has one.
 */

export interface Slots {
  readonly total: number;
  readonly free: number;
  /** Waits for a free slot; false when the signal was aborted instead. */
  take(signal: AbortSignal): Promise<boolean>;
  /** Takes one that is free; false when there is none. */
  takeFree(): boolean;
  release(): void;
}

export function createSlots(total: number): Slots {
  let free = total;
  const waiting: (() => void)[] = [];
  return {
    total,
    get free() {
      return free;
    },
    async take(signal) {
      while (free === 0 && !signal.aborted) {
        await new Promise<void>((resolve) => {
          const done = () => {
            signal.removeEventListener('abort', done);
            resolve();
          };
          waiting.push(done);
          signal.addEventListener('abort', done);
        });
      }
      if (signal.aborted) return false;
      free -= 1;
      return true;
    },
    takeFree() {
      if (free === 0) return false;
      free -= 1;
      return true;
    },
    release() {
      free += 1;
      waiting.shift()?.();
    },
  };
}
