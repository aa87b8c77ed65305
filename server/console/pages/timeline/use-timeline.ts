/** This hook follows one environment's timeline while its page is shown. */
import { useSignal, type ReadonlySignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { Timeline, type TimelineEntry, type TimelineEvent } from '@svc/sdk';
import { client } from '../../api.ts';
import { dataOf, useRead } from '../../cache.ts';
import type { LastGood } from '../../last-good.ts';
import type { LiveStatus } from '../../live.ts';
import { useLiveState } from '../../use-live-state.ts';
import { append, begin, change, cursorBehind, WATCHED, type KnownEntries } from './known.ts';
import { newsWords } from './words.ts';

const timeline = new Timeline(client);
const FRESH_MS = 6_000;

export interface FollowedTimeline {
  readonly kept: LastGood<KnownEntries>;
  readonly status: LiveStatus;
  /** Ids of entries that came or changed a moment ago. */
  readonly fresh: ReadonlySignal<ReadonlySet<string>>;
  /** The same in words, for who cannot see it. */
  readonly news: ReadonlySignal<string>;
  loadOlder(): Promise<void>;
}

export function useTimeline(environmentId: string): FollowedTimeline {
  const key = `timeline ${environmentId}`;
  const kept = useRead<KnownEntries>(key, async () => {
    const { entries, nextCursor } = await timeline.get(environmentId, { limit: WATCHED });
    return begin(dataOf<KnownEntries>(key)?.data.peek(), entries, nextCursor !== undefined);
  });
  const { fresh, news, show } = useFresh();
  const status = useLiveState<TimelineEvent>({
    open: (ending) => timeline.watch(environmentId, { limit: WATCHED }, { signal: ending, maxRetries: 0 }),
    onState: (event, first) => {
      const before = kept.data.peek();
      kept.replace(first || before === undefined ? begin(before, event.entries) : change(before, event));
      if (!first && before !== undefined) show(event.entries, before);
    },
    ask: kept.load,
  });
  const loadOlder = async (): Promise<void> => {
    const before = kept.data.peek();
    const cursor = before && cursorBehind(before);
    if (cursor === undefined) return;
    const page = await timeline.get(environmentId, { limit: WATCHED, cursor });
    // As it is by now: the stream goes on meanwhile.
    const known = kept.data.peek();
    if (known !== undefined) kept.set(append(known, page.entries, page.nextCursor !== undefined));
  };
  return { kept, status, fresh, news, loadOlder };
}

/** Marks what changed for a moment. */
function useFresh() {
  const fresh = useSignal<ReadonlySet<string>>(new Set());
  const news = useSignal('');
  const timer = useRef<number | undefined>(undefined);
  useEffect(() => () => window.clearTimeout(timer.current), []);
  const show = (changed: readonly TimelineEntry[], before: KnownEntries): void => {
    fresh.value = new Set([...fresh.peek(), ...changed.map(({ id }) => id)]);
    const old = new Map(before.entries.map((entry) => [entry.id, entry.status]));
    const moved = changed.filter(({ id, status }) => old.get(id) !== status);
    if (moved.length > 0) news.value = newsWords(moved);
    window.clearTimeout(timer.current);
    timer.current = window.setTimeout(() => {
      fresh.value = new Set();
      news.value = '';
    }, FRESH_MS);
  };
  return { fresh, news, show };
}
