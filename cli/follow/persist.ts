/**
 * Follows a stream through the absence of a control plane. The SDK comes back after a cut by itself, but
 * gives up after a few tries in a row: right for a program that has other things to do, wrong for somebody
 * who watches a build while the service is being updated. What must hold: nothing is shown twice or left out,
 * and a stream that was never there fails at once.
 */
import { SvcAbortError, SvcApiError } from '@svc/sdk';
import type { Context } from '../shell/command.ts';

const PAUSE_FIRST_MS = 500;
const PAUSE_MAX_MS = 5_000;
/** An outage longer than this ends with the error itself. */
const OUTAGE_MAX_MS = 120_000;

export async function* persistently<E extends { readonly position: string }>(
  { io, output }: Pick<Context, 'io' | 'output'>,
  signal: AbortSignal,
  /**
   * Opens the stream behind the position of the last event that was seen, which is undefined before the
   * first.
   */
  open: (after: string | undefined) => AsyncIterable<E>,
): AsyncGenerator<E> {
  let after: string | undefined;
  let lostAt: number | undefined;
  let pauseMs = PAUSE_FIRST_MS;
  for (;;) {
    try {
      for await (const event of open(after)) {
        after = event.position;
        lostAt = undefined;
        pauseMs = PAUSE_FIRST_MS;
        yield event;
      }
      return;
    } catch (error) {
      const passing = error instanceof SvcApiError && !(error instanceof SvcAbortError) && error.retryable;
      lostAt ??= io.now();
      if (!passing || after === undefined || io.now() - lostAt > OUTAGE_MAX_MS) throw error;
      await output.progress(`the output broke off, trying again: ${error.message}`);
      await io.pause(pauseMs, signal);
      pauseMs = Math.min(PAUSE_MAX_MS, pauseMs * 2);
      if (signal.aborted) throw error;
    }
  }
}
