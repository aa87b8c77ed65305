/** Reads `If-None-Match` of RFC 9110: whoever has these bytes already is answered with 304. */

/**
 * Compares weakly, as for reading, because proxies that compress make a tag weak. `etag` has its quotes and
 * no comma.
 */
export function holdsTag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch === etag || ifNoneMatch.trim() === '*') return true;
  return ifNoneMatch.split(',').some((part) => part.trim().replace(/^W\//, '') === etag);
}
