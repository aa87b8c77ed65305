/** Waits for a condition instead of a time; says what it last saw when it gives up. */

export interface Waiting<T> {
  /** Test that the value has to pass. By default it is anything but undefined and false. */
  readonly holds?: (value: T) => boolean;
  /**
   * Default 30 s: what a test waits for is there within milliseconds, and a busy machine gets some seconds.
   */
  readonly withinMs?: number | undefined;
}

const WITHIN_MS = 30_000;
const POLL_MS = 5;
/** Longest time between two looks. */
const POLL_MS_MAX = 40;

/**
 * `what` is told of in the failure; a function is asked then. A look that fails is repeated, and its error is
 * the failure's cause.
 */
export async function waitFor<T>(
  what: string | (() => unknown),
  look: () => T | Promise<T>,
  { holds = isThere, withinMs = WITHIN_MS }: Waiting<T> = {},
): Promise<Exclude<T, undefined | false>> {
  const startMs = performance.now();
  const endMs = startMs + withinMs;
  for (;;) {
    let seen: T | undefined;
    let cause: unknown;
    try {
      seen = await look();
      if (holds(seen)) return seen as Exclude<T, undefined | false>;
    } catch (error) {
      cause = error;
    }
    if (performance.now() > endMs) {
      const about = typeof what === 'string' ? what : JSON.stringify(what());
      throw new Error(`waited ${withinMs} ms for ${about}; last seen: ${JSON.stringify(seen)}`, { cause });
    }
    // A value that has not come for a while is looked for less often, because some looks start processes.
    const waitedMs = performance.now() - startMs;
    await new Promise((resolve) => setTimeout(resolve, Math.min(POLL_MS + waitedMs / 20, POLL_MS_MAX)));
  }
}

function isThere(value: unknown): boolean {
  return value !== undefined && value !== false;
}
