/** Gathers what is to be sent until the turn of the event loop ends, so that what one turn has to say leaves as one message. */

/** Of encoded calls or answers in a message; either side takes 1 MiB and more. */
const BYTES_MAX = 256 * 1024;

export interface Gather<T> {
  /** `bytes`: about what it takes in a message. */
  add(item: T, bytes: number): void;
  /** At once. */
  flush(): void;
}

export function createGather<T>(send: (items: readonly T[]) => void): Gather<T> {
  let items: T[] = [];
  let size = 0;
  let scheduled = false;
  const flush = (): void => {
    if (items.length === 0) return;
    const gathered = items;
    items = [];
    size = 0;
    send(gathered);
  };
  const onTurnEnd = (): void => {
    scheduled = false;
    flush();
  };
  return {
    add: (item, bytes) => {
      if (size + bytes > BYTES_MAX) flush();
      items.push(item);
      size += bytes;
      if (scheduled) return;
      scheduled = true;
      setImmediate(onTurnEnd);
    },
    flush,
  };
}
