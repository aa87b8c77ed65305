/** Reads the table, and keeps which rows changed a moment ago. */
import { signal } from '@preact/signals';
import type { PlatformFeature } from '@svc/sdk';
import { platformFeatures } from '../../api.ts';
import { dataOf, useRead } from '../../cache.ts';
import type { LastGood } from '../../last-good.ts';
import { onForget } from '../../session.ts';

export type Features = readonly PlatformFeature[];

const KEY = 'platform features';
const FRESH_MS = 6_000;

export const useFeatures = (): LastGood<Features> => useRead(KEY, async () => await platformFeatures.list());

const now = (): LastGood<Features> | undefined => dataOf<Features>(KEY);

export const featureOf = (key: string): PlatformFeature | undefined =>
  now()?.data.value?.find((each) => each.key === key);

/** Puts one row in place, as the server answered it: a reading that began earlier does not take it back. */
export function applyFeature(feature: PlatformFeature): void {
  const list = now();
  list?.replace((list.data.peek() ?? []).map((each) => (each.key === feature.key ? feature : each)));
}

export const readFeatures = async (): Promise<void> => await now()?.load();

/** Keys of rows that changed a moment ago. */
export const fresh = signal<ReadonlySet<string>>(new Set());
let freshTimer: number | undefined;

export function markFresh(keys: readonly string[]): void {
  if (keys.length === 0) return;
  fresh.value = new Set([...fresh.peek(), ...keys]);
  window.clearTimeout(freshTimer);
  freshTimer = window.setTimeout(() => {
    fresh.value = new Set();
  }, FRESH_MS);
}

onForget(() => {
  fresh.value = new Set();
});
