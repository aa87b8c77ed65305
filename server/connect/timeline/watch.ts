/**
 * The newest entries of an environment as they come and change. All who watch an environment share one look,
 * as wide as the widest of them asks for.
 */
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { TimelineEventSchema } from '@svc/proto/gen/svc/timeline/v1/timeline_pb.ts';
import type { TeamScope } from '../../kit/context.ts';
import type { Database } from '../../base/db/index.ts';
import { notFound } from '../../kit/not-found.ts';
import { createWatches, fingerprint, type Watches } from '../../kit/watch.ts';
import { shownEntry } from './shown.ts';
import { environmentExists, readTimeline, type Entry } from './store.ts';

export type TimelineEvent = MessageInitShape<typeof TimelineEventSchema>;

export interface Watcher {
  readonly db: Database;
  readonly teams: TeamScope;
  readonly environmentId: string;
  readonly limit: number;
}

interface SeenEntry {
  readonly entry: Entry;
  readonly print: string;
}

export type TimelineWatches = Watches<Watcher, readonly SeenEntry[]>;

export function createTimelineWatches(isCiOpen: () => boolean): TimelineWatches {
  return createWatches(async ([first, ...others], before) => {
    if (first === undefined) throw new Error('a look without watchers');
    const { db, teams, environmentId } = first;
    const take = Math.max(first.limit, ...others.map(({ limit }) => limit));
    const entries = await readTimeline(db, teams, {
      environmentId,
      before: undefined,
      take,
      withRuns: isCiOpen(),
    });
    // Whatever an environment has in its timeline keeps it from being gone.
    if (entries.length === 0 && !(await environmentExists(db, teams, environmentId)))
      throw notFound('environment');
    const seen = entries.map((entry) => ({ entry, print: fingerprint(entry) }));
    return before !== undefined && sameAs(before, seen) ? before : seen;
  });
}

function sameAs(before: readonly SeenEntry[], now: readonly SeenEntry[]): boolean {
  return before.length === now.length && now.every(({ print }, index) => before[index]?.print === print);
}

/** Yields what changed for one watcher since the look before. */
export async function* watchTimeline(
  watches: TimelineWatches,
  watcher: Watcher,
  signal: AbortSignal,
): AsyncGenerator<TimelineEvent> {
  let known: ReadonlyMap<string, string> | undefined;
  for await (const seen of watches.watch(watcher.environmentId, watcher, signal)) {
    const before = known;
    const watched = seen.slice(0, watcher.limit);
    const changed = watched.filter(({ entry, print }) => before?.get(entry.id) !== print);
    known = new Map(watched.map(({ entry, print }) => [entry.id, print]));
    const gone = [...(before?.keys() ?? [])].filter((id) => known?.has(id) !== true);
    if (before !== undefined && changed.length === 0 && gone.length === 0) continue;
    const position = fingerprint([...known.values()]);
    yield { position, entries: changed.map(({ entry }) => shownEntry(entry)), gone };
  }
}
