/**
 * Versions of daemons, `1.2.3` with anything behind it, which is not compared. A version that cannot be read
 * is never held against a runner.
 */
import type { SqlTag } from '../../base/db/index.ts';
import type { Fragment } from '../../base/sql.ts';

const FORM = /^(\d{1,6})\.(\d{1,6})\.(\d{1,6})/;

/** Returns undefined when it is not a version. */
export function versionParts(version: string): readonly number[] | undefined {
  return FORM.exec(version)?.slice(1).map(Number);
}

export function isBelow(version: string, least: string): boolean {
  const [a, b] = [versionParts(version), versionParts(least)];
  if (a === undefined || b === undefined) return false;
  const differing = a.findIndex((part, i) => part !== b[i]);
  return differing >= 0 && a[differing]! < b[differing]!;
}

/** Returns whether the version of the runner `r` is below `least`; an empty one is below nothing. */
export function runnerIsBelow(sql: SqlTag, least: string): Fragment {
  const parts = versionParts(least);
  if (parts === undefined) return sql`false`;
  return sql`coalesce(
    string_to_array(substring(r.version from '^[0-9]{1,6}[.][0-9]{1,6}[.][0-9]{1,6}'), '.')::int[] < ${[...parts]}::int[], false)`;
}
