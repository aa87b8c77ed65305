/**
 * Work that repeats: the first run at once, one run at a time, at once again while there is more to do,
 * otherwise after a pause with ±20 % of jitter so that several servers spread out. A failed run is reported
 * and the next one comes as usual.
 */

export interface Loop {
  /** Does not wait for the pause. */
  wake(): void;
  /** Resolves when the running pass has ended. */
  stop(): Promise<void>;
}

export interface LoopOptions {
  readonly everyMs: number;
  /** Returns true when there is more to do at once. */
  run(): Promise<boolean | void>;
  onError(error: unknown): void;
}

const JITTER = 0.2;

/** This runs one step after the other. A step that fails is told of and keeps no other one back. */
export async function eachStep(
  steps: ReadonlyArray<() => Promise<unknown>>,
  onError: LoopOptions['onError'],
): Promise<void> {
  for (const step of steps) {
    try {
      await step();
    } catch (error) {
      onError(error);
    }
  }
}

export function startLoop({ everyMs, run, onError }: LoopOptions): Loop {
  let stopped = false;
  let woken = false;
  let endPause: (() => void) | undefined;

  const pause = async (): Promise<void> => {
    if (woken || stopped) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, everyMs * (1 - JITTER + 2 * JITTER * Math.random()));
      timer.unref();
      endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    endPause = undefined;
  };
  const pass = async (): Promise<boolean> => {
    try {
      return (await run()) === true;
    } catch (error) {
      onError(error);
      return false;
    }
  };
  const loop = async (): Promise<void> => {
    while (!stopped) {
      woken = false;
      const more = await pass();
      if (!more) await pause();
    }
  };
  const done = loop();
  return {
    wake: () => {
      woken = true;
      endPause?.();
    },
    stop: async () => {
      stopped = true;
      endPause?.();
      await done;
    },
  };
}
