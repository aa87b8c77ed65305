/** Chooses which rows are shown. The filter lives in the address, so that a link shows the same rows. */
import type { PlatformFeature } from '@svc/sdk';
import { param, setParams } from '../../router.ts';
import { isBlocked } from './words.ts';

const RECENT_MS = 7 * 24 * 60 * 60 * 1_000;

export interface Filter {
  readonly text: string;
  readonly onlyBlocked: boolean;
  readonly onlyRecent: boolean;
}

export function currentFilter(): Filter {
  return {
    text: param('q') ?? '',
    onlyBlocked: param('blocked') !== undefined,
    onlyRecent: param('recent') !== undefined,
  };
}

/** Typing leaves no trail of steps to go back through. */
export function setFilter(change: Partial<Filter>): void {
  const { text, onlyBlocked, onlyRecent } = { ...currentFilter(), ...change };
  setParams(
    { q: text, blocked: onlyBlocked ? '1' : undefined, recent: onlyRecent ? '1' : undefined },
    { replace: true },
  );
}

export function clearFilter(): void {
  setFilter({ text: '', onlyBlocked: false, onlyRecent: false });
}

export const isFiltering = ({ text, onlyBlocked, onlyRecent }: Filter): boolean =>
  text !== '' || onlyBlocked || onlyRecent;

/** Every word must occur in the key, the description, the owner or the lifecycle. */
export function matches(feature: PlatformFeature, filter: Filter, nowMs: number): boolean {
  if (filter.onlyBlocked && !isBlocked(feature)) return false;
  if (filter.onlyRecent) {
    const { lastChange } = feature;
    if (lastChange === undefined || Date.parse(lastChange.at) < nowMs - RECENT_MS) return false;
  }
  const { key, description, owner, lifecycle, visibility } = feature;
  const haystack = `${key} ${description} ${owner} ${lifecycle} ${visibility}`.toLowerCase();
  return filter.text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => haystack.includes(word));
}
