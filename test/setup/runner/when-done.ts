/** Says when what a helper made is removed: after the test, or after the file for what its tests share. */
import { beforeAll, onTestFinished } from 'vitest';

type End = () => unknown;

/** The ends of what a file shares, while it is being made. */
let endsOfFile: End[] | undefined;

/** Calls `end` when the test is done, or the file, when it is called within `sharedByFile`. */
export function whenDone(end: End): void {
  if (endsOfFile === undefined) onTestFinished(async () => void (await end()));
  else endsOfFile.push(end);
}

/**
 * Makes something once for all tests of the describe block or file in which this is called, and removes it
 * after them.
 * @param timeoutMs Of making it; otherwise that of every hook.
 */
export function sharedByFile<T>(make: () => Promise<T>, timeoutMs?: number): () => T {
  let made: { value: T } | undefined;
  beforeAll(async () => {
    const { value, end } = await withEnds(make);
    made = { value };
    return end;
  }, timeoutMs);
  return () => {
    if (made === undefined) throw new Error('what the tests share is not made yet');
    return made.value;
  };
}

/** Makes something, outside of tests too; `end` removes all that it is made of, also where it fails. */
export async function withEnds<T>(make: () => Promise<T>): Promise<{ value: T; end: () => Promise<void> }> {
  const ends: End[] = (endsOfFile = []);
  const end = async () => {
    for (const each of ends.toReversed()) await each();
  };
  try {
    return { value: await make(), end };
  } catch (error) {
    await end();
    throw error;
  } finally {
    endsOfFile = undefined;
  }
}
