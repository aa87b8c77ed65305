/** Finds the address of what a search or the inbox names. */
import type { SearchHit } from '@svc/sdk';
import { entries } from '../gen/index.ts';
import { segment, teamHref } from '../place.ts';
import { itemHref } from './addresses.ts';

/** `Policies` is a policy, `CI connections` is a CI connection. */
export function singular(title: string): string {
  const one = title.endsWith('ies') ? `${title.slice(0, -3)}y` : title.replace(/s$/, '');
  return /^[A-Z][a-z]/.test(one) ? one.charAt(0).toLowerCase() + one.slice(1) : one;
}

/** Returns the address of a thing of a kind; of what has no page of its own, that of its collection. */
export function hrefOfKind(
  teamId: string,
  { kind, ...row }: Pick<SearchHit, 'kind' | 'id'> & Partial<SearchHit>,
): string | undefined {
  const entry = entries.find(
    ({ at, parent, title }) => at !== 'staff' && parent === undefined && singular(title) === kind,
  );
  if (entry === undefined) return undefined;
  const collection = [
    entry.at === 'account' ? '/console/account' : teamHref(teamId),
    ...entry.segments.map(segment),
  ].join('/');
  return itemHref(entry, { ...row, teamId }, collection) ?? collection;
}
