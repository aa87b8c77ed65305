/** One environment's timeline as the page follows it. */
import { signal, type ReadonlySignal } from '@preact/signals';
import { Timeline, type TimelineEntry, type TimelineEvent } from '@svc/sdk';
import { client } from '../../api.ts';
import { lastGood, type LastGood } from '../../last-good.ts';
import type { StateSource } from '../../live.ts';
import { append, begin, change, cursorBehind, WATCHED, type KnownEntries } from './known.ts';
import { newsWords } from './words.ts';

const timeline = new Timeline(client);
const FRESH_MS = 6_000;

export interface FollowedTimeline {
  readonly kept: LastGood<KnownEntries>;
  readonly source: StateSource<TimelineEvent>;
  /** Ids of entries that came or changed a moment ago. */
  readonly fresh: ReadonlySignal<ReadonlySet<string>>;
  /** The same in words, for who cannot see it. */
  readonly news: ReadonlySignal<string>;
  loadOlder(): Promise<void>;
  end(): void;
}

export function createTimeline(environmentId: string): FollowedTimeline {
  const fresh = signal<ReadonlySet<string>>(new Set());
  const news = signal('');
  let timer: number | undefined;
  const kept: LastGood<KnownEntries> = lastGood(async () => {
    const { entries, nextCursor } = await timeline.get(environmentId, { limit: WATCHED });
    return begin(kept.data.peek(), entries, nextCursor !== undefined);
  });
  const show = (changed: readonly TimelineEntry[], before: KnownEntries): void => {
    fresh.value = new Set([...fresh.peek(), ...changed.map(({ id }) => id)]);
    const old = new Map(before.entries.map((entry) => [entry.id, entry.status]));
    const moved = changed.filter(({ id, status }) => old.get(id) !== status);
    if (moved.length > 0) news.value = newsWords(moved);
    window.clearTimeout(timer);
    timer = window.setTimeout(() => {
      fresh.value = new Set();
      news.value = '';
    }, FRESH_MS);
  };
  return {
    kept,
    fresh,
    news,
    source: {
      open: (ending) => timeline.watch(environmentId, { limit: WATCHED }, { signal: ending, maxRetries: 0 }),
      onState: (event, first) => {
        const before = kept.data.peek();
        kept.replace(first || before === undefined ? begin(before, event.entries) : change(before, event));
        if (!first && before !== undefined) show(event.entries, before);
      },
      ask: kept.load,
    },
    loadOlder: async () => {
      const cursor = kept.data.peek() && cursorBehind(kept.data.peek() as KnownEntries);
      if (cursor === undefined) return;
      const page = await timeline.get(environmentId, { limit: WATCHED, cursor });
      // As it is by now: the stream goes on meanwhile.
      const known = kept.data.peek();
      if (known !== undefined) kept.set(append(known, page.entries, page.nextCursor !== undefined));
    },
    end: () => {
      window.clearTimeout(timer);
      kept.end();
    },
  };
}
