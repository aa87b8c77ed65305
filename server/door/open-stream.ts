/** A server stream that holds something for as long as it lives: given back once it ends, in whatever way. */
import type { Message } from '@bufbuild/protobuf';
import { mapDatabaseError } from '../base/db/index.ts';

/**
 * Returns what `start` opens. `onEnd` runs when that is refused, and when its messages are over, fail or are
 * closed, also before the first was asked for, which a generator would not notice. It may run more than once.
 */
export async function openStream(
  start: () => Promise<unknown>,
  onEnd: () => void,
): Promise<AsyncIterable<Message>> {
  try {
    return endingWith((await start()) as AsyncIterable<Message>, onEnd);
  } catch (error) {
    onEnd();
    throw mapDatabaseError(error);
  }
}

function endingWith(inner: AsyncIterable<Message>, onEnd: () => void): AsyncIterable<Message> {
  return {
    [Symbol.asyncIterator]: () => {
      const iterator = inner[Symbol.asyncIterator]();
      return {
        next: async () => {
          try {
            const next = await iterator.next();
            if (next.done === true) onEnd();
            return next;
          } catch (error) {
            onEnd();
            throw mapDatabaseError(error);
          }
        },
        return: async () => {
          onEnd();
          await iterator.return?.();
          return { done: true, value: undefined };
        },
      };
    },
  };
}
