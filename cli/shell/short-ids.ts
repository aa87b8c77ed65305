/**
 * Shortens ids for tables that people read. What is left of one is enough to name it in a command: the
 * finder takes the beginning of an id. It is pure.
 */
import { kinds } from '../gen/kinds.ts';

const WHOLE = /^([a-z]{2,5})_[0-9a-hjkmnp-tv-z]{26}$/;
/** They hold the time of an id to the millisecond, and some of what tells its neighbours apart. */
const LENGTH_MIN = 12;
const PREFIXES: ReadonlySet<string> = new Set(Object.values(kinds).flatMap(({ prefix }) => prefix ?? []));

/** Makes the function that shortens ids of one page, all of them to the same length. */
export function shortIds(values: readonly unknown[]): (value: unknown) => unknown {
  const ids = [...new Set(values.filter(isWhole))];
  let length = LENGTH_MIN;
  while (new Set(ids.map((id) => cut(id, length))).size < ids.length) length += 1;
  return (value) => (isWhole(value) ? cut(value, length) : value);
}

/** Only what the finder finds is shortened. */
function isWhole(value: unknown): value is string {
  const prefix = typeof value === 'string' ? WHOLE.exec(value)?.[1] : undefined;
  return prefix !== undefined && PREFIXES.has(prefix);
}

function cut(id: string, length: number): string {
  return id.slice(0, id.indexOf('_') + 1 + length);
}
