/** This hook follows what the server has told a part of a page while that is shown. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { followState, type LiveStatus, type StateSource } from './live.ts';

/** `source` stays the one of the first drawing: give what follows something else another `key`. */
export function useLiveState<E>(source: StateSource<E>): LiveStatus {
  const status = useSignal<LiveStatus>('opening');
  useEffect(() => {
    const following = followState(source);
    const unsubscribe = following.status.subscribe((now) => {
      status.value = now;
    });
    return () => {
      unsubscribe();
      following.end();
    };
  }, []);
  return status.value;
}
