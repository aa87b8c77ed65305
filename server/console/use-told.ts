/** What the server tells a part of a page while that is shown. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { followTold } from './live.ts';
import type { Standing, ToldSource } from './live.ts';

/** `source` stays the one of the first drawing: give what follows something else another `key`. */
export function useTold<E>(source: ToldSource<E>): Standing {
  const standing = useSignal<Standing>('opening');
  useEffect(() => {
    const told = followTold(source);
    const unsubscribe = told.standing.subscribe((now) => {
      standing.value = now;
    });
    return () => {
      unsubscribe();
      told.end();
    };
  }, []);
  return standing.value;
}
