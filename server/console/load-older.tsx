/** Pages of a list behind its first one, which are read when somebody asks for them. */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { useAnnouncedWork } from './use-work.ts';

interface LoadOlderProps {
  readonly busy: boolean;
  readonly load: () => Promise<void>;
  /** Stands apart from what is above it. */
  readonly apart?: boolean;
  /** The page that it loads, where it does so by itself before it comes into view. */
  readonly grows?: string | undefined;
}

/** The list grows on so far below the view. */
const NEAR = '600px 0px';
/** A list that has grown so long by itself grows on when somebody asks. */
const GROWN_MAX = 20_000;

/** The button below a list that has more: it stays where it is while it loads, so that the focus does. */
export function LoadOlder({ busy, load, apart = false, grows }: LoadOlderProps) {
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (grows === undefined || button.current === null) return;
    const watching = new IntersectionObserver(
      // The newest is the last of those that came together.
      (seen) => {
        if (seen.at(-1)?.isIntersecting === true) void load();
      },
      { rootMargin: NEAR },
    );
    watching.observe(button.current);
    return () => watching.disconnect();
  }, [grows]);
  return (
    <button
      ref={button}
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

interface Identified {
  readonly id: string;
}

/**
 * Items that newer ones have pushed off a first page: those that stood behind the last one that is still on
 * it.
 */
function pushedOff<T extends Identified>(before: readonly T[], now: readonly T[]): readonly T[] {
  const ids = new Set(now.map(({ id }) => id));
  return before.slice(before.findLastIndex(({ id }) => ids.has(id)) + 1);
}

/**
 * Returns a function that adds to a first page what was read behind it, and the button that reads more. A
 * list that `grows` reads it as somebody scrolls, too.
 */
export function useOlder<T extends Identified>(
  read: (cursor: string) => Promise<Part<T>>,
  { grows = false } = {},
) {
  const older = useSignal<Part<T> | undefined>(undefined);
  const before = useRef<Part<T> | undefined>(undefined);
  const pushed = useRef<readonly T[]>([]);
  const { busy, run } = useAnnouncedWork();
  return (first: Part<T>) => {
    if (older.value !== undefined && before.current !== undefined && before.current !== first)
      pushed.current = [...pushedOff(before.current.items, first.items), ...pushed.current];
    before.current = first;
    const { nextCursor: cursor } = older.value ?? first;
    const load = async (from: string): Promise<void> =>
      await run(async () => {
        const { items, nextCursor } = await read(from);
        older.value = { items: [...(older.value?.items ?? []), ...items], nextCursor };
      });
    const all = [...first.items, ...pushed.current, ...(older.value?.items ?? [])];
    return {
      items:
        older.value === undefined ? first.items : [...new Map(all.map((each) => [each.id, each])).values()],
      button: cursor !== undefined && (
        <LoadOlder
          apart
          busy={busy.value}
          load={() => load(cursor)}
          grows={grows && all.length < GROWN_MAX ? cursor : undefined}
        />
      ),
    };
  };
}
