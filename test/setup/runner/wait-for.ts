/** Waits for a condition instead of sleeping; a failure shows what was seen last. */

export async function waitFor<T>(
  what: string,
  look: () => T | undefined | false | Promise<T | undefined | false>,
  timeoutMs = 15_000,
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  let seen: unknown;
  for (;;) {
    const value = await look();
    if (value !== undefined && value !== false) return value;
    seen = value;
    if (performance.now() > deadline)
      throw new Error(`waited ${timeoutMs} ms for ${what}; last seen: ${String(seen)}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
