/**
 * The table's data, and what is new in it. Owner of the list: readings, answers of changes and 412s all go
 * through here, so that a reading that began earlier never takes back what an answer showed.
 */
import { computed, signal } from '@preact/signals';
import type { PlatformFeature } from '@svc/sdk';
import { announce } from '../../announce.ts';
import { platformFeatures } from '../../api.ts';
import { lastGood } from '../../last-good.ts';
import { onForget } from '../../session.ts';
import { counted } from '../../words.ts';
import { actorName, position } from './words.ts';

const FRESH_MS = 6_000;

/** Keys of rows that changed a moment ago. */
export const fresh = signal<ReadonlySet<string>>(new Set());

/** Told of each feature whose switch somebody else moved. */
let onMoved: (now: PlatformFeature) => void = () => undefined;
export function whenMovedElsewhere(listener: (now: PlatformFeature) => void): void {
  onMoved = listener;
}

/**
 * Keys whose change this page has asked for and not yet heard about: their news comes with the answer, not
 * with the event.
 */
const awaited = new Set<string>();

/** Rows that answers brought while the list was being read, which may have begun before them. */
const applied = new Map<string, PlatformFeature>();

async function readList(): Promise<readonly PlatformFeature[]> {
  applied.clear();
  const rows = await platformFeatures.list();
  return rows.map((row) => {
    const answered = applied.get(row.key);
    return answered !== undefined && answered.revision > row.revision ? answered : row;
  });
}

export const list = lastGood<readonly PlatformFeature[]>(readList, (now, before) => {
  if (before !== undefined) compare(now, before);
});

onForget(() => {
  fresh.value = new Set();
});

export const byKey = computed(
  () => new Map((list.data.value ?? []).map((feature) => [feature.key, feature])),
);

/** Puts one row in place, as an answer of the server showed it. */
export function applyFeature(feature: PlatformFeature): void {
  applied.set(feature.key, feature);
  list.set((list.data.peek() ?? []).map((each) => (each.key === feature.key ? feature : each)));
}

/** Runs a change of this page's own; while it is under way, its row is no news. */
export async function ownChange<T>(key: string, change: () => Promise<T>): Promise<T> {
  awaited.add(key);
  try {
    return await change();
  } finally {
    awaited.delete(key);
  }
}

let freshTimer: number | undefined;

export function markFresh(keys: readonly string[]): void {
  if (keys.length === 0) return;
  fresh.value = new Set([...fresh.peek(), ...keys]);
  window.clearTimeout(freshTimer);
  freshTimer = window.setTimeout(() => {
    fresh.value = new Set();
  }, FRESH_MS);
}

function compare(now: readonly PlatformFeature[], before: readonly PlatformFeature[]): void {
  const old = new Map(before.map((feature) => [feature.key, feature]));
  const changed = now.filter((feature) => {
    const was = old.get(feature.key);
    return (
      was?.revision !== feature.revision || was.enabled !== feature.enabled || was.reason !== feature.reason
    );
  });
  markFresh(changed.map(({ key }) => key));
  const moved = changed.filter(
    ({ key, revision }) => old.get(key)?.revision !== revision && !awaited.has(key),
  );
  for (const feature of moved) onMoved(feature);
  const others = changed.filter(({ key }) => !awaited.has(key)).length - moved.length;
  const news = moved.map(describe).join(' ');
  // One announcement for all that came together.
  if (news !== '')
    announce(
      others > 0 ? `${news} ${counted(others, 'more feature', 'more features')} changed with it.` : news,
    );
}

function describe({ key, state, lastChange }: PlatformFeature): string {
  const who = lastChange === undefined ? 'Somebody' : actorName(lastChange.actor);
  return `${who} turned ${position(state)} ${key}.`;
}
