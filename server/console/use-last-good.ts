/** Data that a part of a page reads while it is shown, once or now and then, and forgets when it is not. */
import { useEffect, useMemo } from 'preact/hooks';
import { lastGood, type LastGood } from './last-good.ts';
import { createLive, every } from './live.ts';

/** `read` stays the one of the first drawing: give what reads something else another `key`. */
export function useLastGood<T>(read: () => Promise<T>): LastGood<T> {
  const kept = useMemo(() => lastGood(read), []);
  useEffect(() => {
    void kept.load();
    return () => kept.end();
  }, []);
  return kept;
}

/** Reads anew now and then, too, because no stream tells of it. */
export function usePolled<T>(read: () => Promise<T>, everyMs: number): LastGood<T> {
  const kept = useLastGood(read);
  useEffect(() => followPolled(kept, everyMs), []);
  return kept;
}

/** Reads now, and anew from then on, while the tab is in view. Returns how it ends. */
export const followPolled = <T>({ load, markStale }: LastGood<T>, everyMs: number): (() => void) =>
  createLive().follow({
    open: (ending) => every(everyMs, ending),
    onEvent: async () => await load(),
    onLost: markStale,
  });
