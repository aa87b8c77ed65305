/** Data that is read anew now and then while a part of a page is shown, because no stream tells of it. */
import { useEffect } from 'preact/hooks';
import type { LastGood } from './last-good.ts';
import { createLive, every } from './live.ts';
import { useLastGood } from './use-last-good.ts';

/** `read` stays the one of the first drawing. */
export function usePolled<T>(read: () => Promise<T>, everyMs: number): LastGood<T> {
  const kept = useLastGood(read);
  useEffect(() => followPolled(kept, everyMs), []);
  return kept;
}

/** Reads anew from now on. Returns how it ends. */
export const followPolled = <T>({ load, markStale }: LastGood<T>, everyMs: number): (() => void) =>
  createLive().follow({
    open: (ending) => every(everyMs, ending),
    onEvent: async () => await load(),
    onLost: markStale,
  });
