/** Chooses which entries are shown. The filter lives in the address, so that a link shows the same ones. */
import type { TimelineEntry } from '@svc/sdk';
import { param, setParams } from '../../router.ts';
import { outcomeOf, sourceName, sourceOf, statusOf } from './words.ts';

export interface Filter {
  readonly text: string;
  readonly status: string;
  readonly branch: string;
  readonly source: string;
}

/** Values of `status` in the address, and how they are called. */
export const STATUSES: ReadonlyArray<readonly [value: string, name: string]> = [
  ['open', 'Waiting or running'],
  ['blocked', 'Waits for a person'],
  ['failed', 'Failed'],
  ['succeeded', 'Succeeded'],
  ['cancelled', 'Cancelled'],
  ['unknown', 'Unknown'],
];

export function currentFilter(): Filter {
  return {
    text: param('q') ?? '',
    status: param('status') ?? '',
    branch: param('branch') ?? '',
    source: param('source') ?? '',
  };
}

/** Typing leaves no trail of steps to go back through; choosing is a step. */
export function setFilter(changes: Partial<Filter>): void {
  const { text, ...chosen } = changes;
  if (text !== undefined) setParams({ q: text }, { replace: true });
  else setParams(chosen);
}

export function clearFilter(): void {
  setParams({ q: undefined, status: undefined, branch: undefined, source: undefined });
}

export const isFiltering = (filter: Filter): boolean => Object.values(filter).some((value) => value !== '');

export function matches(entry: TimelineEntry, { text, status, branch, source }: Filter): boolean {
  if (status !== '' && (status === 'blocked' ? !entry.blocked : outcomeOf(entry) !== status)) return false;
  if (branch !== '' && entry.branch !== branch) return false;
  if (source !== '' && sourceOf(entry) !== source) return false;
  const { name, commitSha, actor, trigger, runnerName, reason } = entry;
  const [word] = statusOf(entry);
  const words = [
    name,
    commitSha,
    entry.branch,
    actor,
    trigger,
    runnerName,
    reason,
    word,
    entry.mergeQueue ? 'merge queue' : '',
    sourceName(sourceOf(entry)),
  ];
  const haystack = words.join(' ').toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((each) => haystack.includes(each));
}

/** What there is to choose from, and what is chosen even when nothing of it is there. */
export function choices(
  entries: readonly TimelineEntry[],
  chosen: string,
  of: (entry: TimelineEntry) => string | undefined,
) {
  const all = new Set([...entries.map(of), chosen]);
  return [...all].filter((value): value is string => value !== undefined && value !== '').toSorted();
}
