/** Knows the addresses of the console, as the contracts give them to its pages. It is pure. */
import { kinds } from '../gen/kinds.ts';
import { isId } from '../shell/finder.ts';
import type { Json } from '../shell/paths.ts';

/** Returns an address of the console; ids and names may be anybody's. */
export function consoleUrl(baseUrl: string, ...segments: readonly string[]): string {
  return [`${baseUrl}/console`, ...segments.map(encodeURIComponent)].join('/');
}

/**
 * Returns the page of a thing of this kind, by its `id` and those of where it is, such as `teamId`. Nothing
 * where one that the address needs is not known.
 */
export function pageUrl(baseUrl: string, key: string, thing: Json): string | undefined {
  const path = kinds[key]?.page?.slice(1).split('/');
  const segments = path?.map((segment) => {
    const variable = /^\{(\w+)\}$/.exec(segment)?.[1];
    return variable === undefined ? segment : thing[variable];
  });
  return segments?.every((segment) => typeof segment === 'string') === true
    ? consoleUrl(baseUrl, ...segments)
    : undefined;
}

/** Tells the kind of a thing that has a page, by the beginning of its id. */
export function kindKeyOfId(id: string): string | undefined {
  const prefix = /^([a-z]+)_/.exec(id)?.[1];
  const known = Object.entries(kinds).filter(([, kind]) => kind.prefix === prefix && kind.page !== undefined);
  // The page that people see of a thing goes before that of staff.
  return (known.find(([, { page }]) => page?.startsWith('/staff') !== true) ?? known[0])?.[0];
}

export function isWholeId(text: string): boolean {
  const kind = kinds[kindKeyOfId(text) ?? ''];
  return kind !== undefined && isId(kind, text);
}
