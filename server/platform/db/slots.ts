/**
 * Bounds how many transactions run at once and how long one waits for its turn; the driver itself would queue without
 * limit. First come, first served. The owner of the count is this closure; a slot is given from hand to hand.
 */
import { apiError } from '@svc/proto/http/errors.ts';

export interface Slots {
  /** Resolves with the function that gives the slot back; rejects with `unavailable` after `waitMs`. */
  take(): Promise<() => void>;
}

export function createSlots(limits: {
  readonly count: number;
  readonly waitMs: number;
  readonly waitersMax: number;
}): Slots {
  let free = limits.count;
  const waiters: Array<() => void> = [];

  const give = (): void => {
    const next = waiters.shift();
    if (next === undefined) free += 1;
    else next();
  };
  const once = (): (() => void) => {
    let given = false;
    return () => {
      if (given) return;
      given = true;
      give();
    };
  };
  const refuse = (why: string): Error =>
    apiError('unavailable', `the database is busy: ${why}; try again`, { retryAfterMs: 1_000 });

  return {
    take: async () => {
      if (free > 0) {
        free -= 1;
        return once();
      }
      if (waiters.length >= limits.waitersMax) throw refuse(`${limits.waitersMax} transactions wait already`);
      await new Promise<void>((resolve, reject) => {
        const turn = (): void => {
          clearTimeout(timer);
          resolve();
        };
        const timer = setTimeout(() => {
          waiters.splice(waiters.indexOf(turn), 1);
          reject(refuse(`no connection became free within ${limits.waitMs} ms`));
        }, limits.waitMs);
        waiters.push(turn);
      });
      return once();
    },
  };
}
