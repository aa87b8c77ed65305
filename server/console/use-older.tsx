/** Pages of a list behind its first one, which are read when somebody asks for them. */
import { useSignal } from '@preact/signals';
import { announce } from './announce.ts';
import { explain, isUnauthenticated } from './api.ts';
import { LoadOlder } from './load-older.tsx';

interface Part<T> {
  readonly items: readonly T[];
  readonly nextCursor: string | undefined;
}

/** Returns a function that adds to a first page what was read behind it, and the button that reads more. */
export function useOlder<T extends { readonly id: string }>(read: (cursor: string) => Promise<Part<T>>) {
  const older = useSignal<Part<T> | undefined>(undefined);
  const busy = useSignal(false);
  return (first: Part<T>) => {
    const { nextCursor: cursor } = older.value ?? first;
    const load = async (): Promise<void> => {
      if (busy.value || cursor === undefined) return;
      busy.value = true;
      try {
        const { items, nextCursor } = await read(cursor);
        older.value = { items: [...(older.value?.items ?? []), ...items], nextCursor };
      } catch (error) {
        if (!isUnauthenticated(error)) announce(explain(error));
      } finally {
        busy.value = false;
      }
    };
    const all = [...first.items, ...(older.value?.items ?? [])];
    return {
      // One that a newer one has pushed off the first page is in neither until it is loaded again.
      items: [...new Map(all.map((each) => [each.id, each])).values()],
      button: cursor !== undefined && <LoadOlder apart busy={busy.value} load={load} />,
    };
  };
}
