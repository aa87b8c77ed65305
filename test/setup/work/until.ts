/** Waits for a condition instead of a time; says what it last saw when it gives up. */
export async function until<T>(
  what: string,
  read: () => T | Promise<T>,
  holds: (value: T) => boolean,
  ms = 10_000,
): Promise<T> {
  const end = performance.now() + ms;
  for (;;) {
    const value = await read();
    if (holds(value)) return value;
    if (performance.now() > end)
      throw new Error(`${what} did not come within ${ms} ms; last seen: ${JSON.stringify(value)}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
