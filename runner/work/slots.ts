/**
 * Limits how much work this runner does at a time. A slot is taken before work is asked for, so an offer
 * always has one.
 */

export function createSlots(total: number) {
  let free = total;
  const waiting: (() => void)[] = [];
  return {
    total,
    get free() {
      return free;
    },
    /** This waits for a free slot; it is false when the signal was aborted instead. */
    async take(signal: AbortSignal) {
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
    /** Takes one that is free; false when there is none. */
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

export type Slots = ReturnType<typeof createSlots>;
