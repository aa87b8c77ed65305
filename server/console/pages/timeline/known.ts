/**
 * Keeps what the page knows of a timeline: the newest entries, which the server tells about as they change,
 * and older ones below them as they were when they were loaded. It is pure, so that what comes in which order
 * can be tested.
 */
import type { TimelineEntry, TimelineEvent } from '@svc/sdk';

/** So many of the newest entries are watched. */
export const WATCHED = 50;

export interface KnownEntries {
  /** Newest first. */
  readonly entries: readonly TimelineEntry[];
  /** Ids of the watched ones. */
  readonly watched: ReadonlySet<string>;
  readonly hasOlder: boolean;
}

/** Returns a negative number when `a` is the newer one, as the server orders them. */
function order(a: TimelineEntry, b: TimelineEntry): number {
  return Date.parse(b.at) - Date.parse(a.at) || (a.id < b.id ? 1 : a.id > b.id ? -1 : 0);
}

/**
 * All of the newest entries, at first and whenever it is not known what was missed. Older ones stay where no
 * gap can lie between.
 */
export function begin(
  known: KnownEntries | undefined,
  newest: readonly TimelineEntry[],
  hasOlder = newest.length >= WATCHED,
): KnownEntries {
  const entries = newest.toSorted(order);
  const watched = new Set(entries.map(({ id }) => id));
  const oldest = entries.at(-1);
  const meets = known !== undefined && known.entries.some(({ id }) => watched.has(id));
  if (!meets || oldest === undefined || entries.length < WATCHED) return { entries, watched, hasOlder };
  const older = known.entries.filter((entry) => !watched.has(entry.id) && order(entry, oldest) > 0);
  return { entries: [...entries, ...older], watched, hasOlder: known.hasOlder };
}

/**
 * One that is gone because newer ones pushed it out of the watched ones is still there; every other one was
 * deleted.
 */
export function change(known: KnownEntries, event: Pick<TimelineEvent, 'entries' | 'gone'>): KnownEntries {
  const changed = new Set(event.entries.map(({ id }) => id));
  const gone = new Set(event.gone);
  const watched = new Set([...known.watched, ...changed].filter((id) => !gone.has(id)));
  const all = [...known.entries.filter(({ id }) => !changed.has(id)), ...event.entries].toSorted(order);
  const oldest = all.findLast(({ id }) => watched.has(id));
  const isFull = watched.size >= WATCHED;
  const wasPushedOut = (entry: TimelineEntry): boolean =>
    isFull && oldest !== undefined && order(entry, oldest) > 0;
  return { ...known, entries: all.filter((entry) => !gone.has(entry.id) || wasPushedOut(entry)), watched };
}

/** Adds the next page behind the last one. */
export function append(
  known: KnownEntries,
  older: readonly TimelineEntry[],
  hasOlder: boolean,
): KnownEntries {
  const ids = new Set(known.entries.map(({ id }) => id));
  const added = older.filter(({ id }) => !ids.has(id));
  return { ...known, entries: [...known.entries, ...added].toSorted(order), hasOlder };
}

/** Behind what the next page begins, in the form of the timeline's own cursors. */
export function cursorBehind({ entries }: KnownEntries): string | undefined {
  const last = entries.at(-1);
  return last && `${last.at}~${last.id}`;
}

export interface Commit {
  /** Key of its newest entry. It stays the same as entries come. */
  readonly key: string;
  readonly sha: string | undefined;
  readonly entries: readonly TimelineEntry[];
}

/** Each commit stands where its newest entry does. Entries without a commit stand alone. */
export function byCommit(entries: readonly TimelineEntry[]): readonly Commit[] {
  const groups = new Map<string, TimelineEntry[]>();
  for (const entry of entries) {
    const key = entry.commitSha ?? entry.id;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [entry]);
    else group.push(entry);
  }
  return [...groups].map(([key, own]) => ({ key, sha: own[0]?.commitSha, entries: own }));
}
