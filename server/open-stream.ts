/** A server stream that holds something for as long as it lives: given back once, however it ends. */
import type { Message } from '@bufbuild/protobuf';

/**
 * The messages of `inner`. `onEnd` runs when they are over, when they fail, and when they are closed, also before the first was asked for, which a
 * generator would not notice. It runs at least once.
 */
export function endingWith(
  inner: AsyncIterable<Message>,
  { onEnd, mapError }: { readonly onEnd: () => void; readonly mapError: (error: unknown) => unknown },
): AsyncIterable<Message> {
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
            throw mapError(error);
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
