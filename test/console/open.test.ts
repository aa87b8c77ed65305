/** `svc open` knows addresses of the console by the contracts alone: they are those that the console has. */
import { describe, expect, it } from 'vitest';
import { kinds } from '../../cli/gen/kinds.ts';
import { entries } from '../../server/console/gen/index.ts';

/** Places of the console, each with what its addresses begin with. */
const PLACES = [
  ['/teams/{teamId}/', 'team'],
  ['/projects/{projectId}/', 'project'],
  ['/environments/{environmentId}/', 'environment'],
  ['/account/', 'account'],
  ['/staff/', 'staff'],
] as const;

describe('an address of svc open', () => {
  const pages = Object.values(kinds).flatMap(({ page }) => (page === undefined ? [] : [page]));
  const ofItems = pages.filter((page) => !/^\/(teams|projects|environments)\/\{id\}$/.test(page));

  it.each(ofItems)('is one of the console: %s', (page) => {
    const [prefix, at] = PLACES.find(([beginning]) => page.startsWith(beginning)) ?? ['', undefined];
    const [last, ...before] = page.slice(prefix.length).split('/').toReversed();
    const isItem = last === '{id}';
    const segments = isItem ? before.toReversed() : [...before.toReversed(), last];
    const entry = entries.find(
      (each) => each.at === at && each.parent === undefined && each.segments.join('/') === segments.join('/'),
    );
    expect(entry).toBeDefined();
    expect(entry?.idField !== undefined).toBe(isItem);
  });

  it('is known of most things', () => expect(pages.length).toBeGreaterThan(30));
});
