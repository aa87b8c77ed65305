/** Says why work waits, so that nobody watches a queue in silence: on standard error, never in a result. */
import type { Waiting } from '@svc/sdk';
import type { Context } from '../shell/command.ts';
import { neutraliseLine } from '../shell/text.ts';

/** Most work begins sooner, and has nothing to say. */
const QUIET_MS = 2_000;
const LOOK_EVERY_MS = 2_000;
/** Work that has begun can wait again: its runner may be lost, or its deploy approved. */
const LOOK_AGAIN_MS = 10_000;

export interface Waits {
  readonly id: string;
  readonly state: string;
  readonly waiting?: Waiting | undefined;
}

export type WaitingTeller = (value: Waits) => Promise<void>;

/** Each reason is said once until it is another. `what`: `run` or `build`. */
export function waitingTeller(
  { io, output }: Pick<Context, 'io' | 'output'>,
  what: string,
  signal: AbortSignal,
): WaitingTeller {
  let isDue = false;
  let said: string | undefined;
  void io.pause(QUIET_MS, signal).then(() => (isDue = true));
  return async ({ id, waiting }) => {
    if (!isDue || waiting === undefined || waiting.reason === said) return;
    said = waiting.reason;
    await output.note(`${what} ${id} waits: ${neutraliseLine(waiting.detail)} (${said})`);
  };
}

/** Looks while `work` shows something else, such as output that does not come yet. */
export async function tellMeanwhile<T>(
  { io }: Pick<Context, 'io'>,
  { tell, look }: { readonly tell: WaitingTeller; readonly look: (signal: AbortSignal) => Promise<Waits> },
  work: () => Promise<T>,
): Promise<T> {
  const done = new AbortController();
  const signal = AbortSignal.any([io.interrupted, done.signal]);
  const telling = (async () => {
    // A little behind the moment from which on it is said.
    for (let pauseMs = QUIET_MS + 100; ;) {
      await io.pause(pauseMs, signal);
      if (signal.aborted) return;
      // A look that fails says nothing: what is shown meanwhile fails by itself, or does without.
      const seen = await look(signal).catch(() => undefined);
      if (signal.aborted) return;
      if (seen !== undefined) await tell(seen);
      pauseMs = seen !== undefined && seen.waiting === undefined ? LOOK_AGAIN_MS : LOOK_EVERY_MS;
    }
  })();
  try {
    return await work();
  } finally {
    done.abort();
    await telling;
  }
}
