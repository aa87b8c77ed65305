/** Pages of a list behind its first one, which are read when somebody asks for them. */
import { useSignal } from '@preact/signals';
import { useAnnouncedWork } from './use-work.ts';

interface LoadOlderProps {
  readonly busy: boolean;
  readonly load: () => Promise<void>;
  /** Stands apart from what is above it. */
  readonly apart?: boolean;
}

/** The button below a list that has more: it stays where it is while it loads, so that the focus does. */
export function LoadOlder({ busy, load, apart = false }: LoadOlderProps) {
  return (
    <button
      class={apart ? 'button button-wide older' : 'button button-wide'}
      type="button"
      aria-disabled={busy ? 'true' : undefined}
      onClick={() => void load()}
    >
      {busy ? 'Loading…' : 'Load older'}
    </button>
  );
}

interface Part<T> {
  readonly items: readonly T[];
  readonly nextCursor: string | undefined;
}

/** Returns a function that adds to a first page what was read behind it, and the button that reads more. */
export function useOlder<T extends { readonly id: string }>(read: (cursor: string) => Promise<Part<T>>) {
  const older = useSignal<Part<T> | undefined>(undefined);
  const { busy, run } = useAnnouncedWork();
  return (first: Part<T>) => {
    const { nextCursor: cursor } = older.value ?? first;
    const load = async (from: string): Promise<void> =>
      await run(async () => {
        const { items, nextCursor } = await read(from);
        older.value = { items: [...(older.value?.items ?? []), ...items], nextCursor };
      });
    const all = [...first.items, ...(older.value?.items ?? [])];
    return {
      // One that a newer one has pushed off the first page is in neither until it is loaded again.
      items: [...new Map(all.map((each) => [each.id, each])).values()],
      button: cursor !== undefined && <LoadOlder apart busy={busy.value} load={() => load(cursor)} />,
    };
  };
}
