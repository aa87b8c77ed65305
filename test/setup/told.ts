/** A stream that a test listens to: what it has told so far, and how it ended. */
import { SvcApiError } from '@svc/sdk';
import { expect } from 'vitest';

export interface Listening<T> {
  readonly events: readonly T[];
  /** Milliseconds since the epoch at which each event came. */
  readonly times: readonly number[];
  /** The first event that holds, of those told already or still to come. */
  event(what: string, holds: (event: T) => boolean): Promise<T>;
  /** Code of the error that it ended with; undefined when it ended well. */
  readonly ended: Promise<string | undefined>;
}

const WITHIN_MS = 10_000;

export function listen<T>(stream: AsyncIterable<T>): Listening<T> {
  const events: T[] = [];
  const times: number[] = [];
  let wake: () => void = () => undefined;
  const ended = (async (): Promise<string | undefined> => {
    try {
      for await (const event of stream) {
        events.push(event);
        times.push(Date.now());
        wake();
      }
      return undefined;
    } catch (error) {
      return error instanceof SvcApiError ? error.code : String(error);
    }
  })();
  return {
    events,
    times,
    ended,
    event: async (what, holds) => {
      const until = Date.now() + WITHIN_MS;
      for (;;) {
        const found = events.find((event) => holds(event));
        if (found !== undefined) return found;
        if (Date.now() >= until)
          expect.fail(`${what} was not told; told was ${JSON.stringify(events).slice(0, 2_000)}`);
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, 100);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
    },
  };
}
