/** `If-Match` of RFC 9110 for a resource whose entity tag is its revision in quotes. */
import { apiError } from '@svc/proto/http/errors.ts';

/** Condition of a change on the revision that it meets. */
export type Precondition = (revision: number) => boolean;

/**
 * `"3"`, `W/"3"`: an entity tag, whose opaque part holds anything but quotes, blanks and control characters.
 */
const TAG = /^(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"$/;
const HEADER_CHARS_MAX = 1_000;

export function entityTag(revision: number): string {
  return `"${revision}"`;
}

/**
 * The header and the field `revision` say the same thing, so both together must not disagree. Compared
 * strongly, as RFC 9110 has it: a weak tag never matches. Throws `request_invalid` for what is no list of
 * entity tags.
 */
export function readPrecondition(
  ifMatch: string | undefined,
  revision: number | undefined,
): Precondition | undefined {
  const strong = ifMatch === undefined ? undefined : strongTags(ifMatch);
  if (revision === undefined) {
    if (strong === undefined || strong === '*') return undefined; // every known feature exists
    return (current) => strong.has(String(current));
  }
  if (strong !== undefined && strong !== '*' && !strong.has(String(revision))) {
    throw apiError(
      'request_invalid',
      `the header If-Match (${shown(ifMatch)}) and the field revision (${revision}) disagree; send one of them`,
    );
  }
  return (current) => current === revision;
}

function strongTags(header: string): '*' | ReadonlySet<string> {
  const text = header.trim();
  if (text === '*') return '*';
  const strong = new Set<string>();
  const parts = text.split(',').map((part) => part.trim());
  for (const part of header.length > HEADER_CHARS_MAX ? [''] : parts) {
    const match = TAG.exec(part);
    if (match === null) {
      throw apiError(
        'request_invalid',
        `the header If-Match is ${shown(header)}, expected the feature's ETag with its quotes, such as "3", or *`,
      );
    }
    if (match[1] === undefined) strong.add(match[2] ?? '');
  }
  return strong;
}

function shown(header: string | undefined): string {
  return `${(header ?? '').slice(0, 60)}`;
}
