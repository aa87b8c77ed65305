/** Chooses which entries are shown. The filter is in the address, so that a link shows the same ones. */
import { param, path, setParams } from '../../router.ts';

export const NAMES = ['action', 'target', 'actorId', 'since', 'until'] as const;
export type FilterName = (typeof NAMES)[number];
export type Filter = Readonly<Partial<Record<FilterName, string>>>;

/** Texts as they stand in the address. Times are those of the reader's zone, as the fields have them. */
export const textsNow = (): Readonly<Record<FilterName, string>> =>
  Object.fromEntries(NAMES.map((name) => [name, param(name) ?? ''])) as Record<FilterName, string>;

/** Returns what the API takes. */
export function filterOf(texts: Readonly<Record<FilterName, string>>): Filter {
  const { since, until, ...rest } = texts;
  const times = { since: timeOf(since), until: timeOf(until) };
  return Object.fromEntries(
    Object.entries({ ...rest, ...times }).filter(([, text]) => text !== undefined && text.trim() !== ''),
  );
}

function timeOf(text: string): string | undefined {
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString();
}

export const setFilter = (texts: Readonly<Partial<Record<FilterName, string>>>): void =>
  setParams(Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, text.trim()])));

/** Returns the address of the same page with this filter alone. */
export const searchHref = (filter: Filter): string =>
  `${path.value}?${new URLSearchParams(filter as Record<string, string>).toString()}`;

export const clearFilter = (): void => setParams(Object.fromEntries(NAMES.map((name) => [name, undefined])));
