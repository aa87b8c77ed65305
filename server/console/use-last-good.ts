/** Data that a part of a page reads while it is shown, and forgets when it is not. */
import { useEffect, useMemo } from 'preact/hooks';
import { lastGood } from './last-good.ts';
import type { LastGood } from './last-good.ts';

/** `read` stays the one of the first drawing: give what reads something else another `key`. */
export function useLastGood<T>(read: () => Promise<T>): LastGood<T> {
  const kept = useMemo(() => lastGood(read), []);
  useEffect(() => {
    void kept.load();
    return () => kept.end();
  }, []);
  return kept;
}
