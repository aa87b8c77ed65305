/** Waits until `read` gives something true, at least until what is settled now has run on; fails with the last value that `describe` saw. */
export async function waitFor<T>(
  read: () => T | false | undefined,
  describe: () => unknown,
  ms = 5_000,
): Promise<T> {
  const untilMs = performance.now() + ms;
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 1));
    const value = read();
    if (value !== undefined && value !== false) return value;
    if (performance.now() > untilMs)
      throw new Error(`condition not met in ${ms} ms; last seen: ${JSON.stringify(describe())}`);
  }
}
