/**
 * Finds packages by their names as people write them, and names that are near. Never reads more than what an
 * index finds: the tables grow with all that a team ever built.
 */
import { formatPurl, nameKey, parsePurl } from '@svc/proto/packages/purl.ts';
import { editDistance } from '@svc/proto/process/edit-distance.ts';
import type { TeamScope } from '../../../kit/context.ts';
import type { SqlTag } from '../../../base/db/index.ts';
import type { Fragment } from '../../../base/sql.ts';

export interface WantedPackage {
  /** The type is null where any type is meant. */
  readonly type: string | null;
  /** Names in lower case. */
  readonly keys: readonly string[];
  /** It is set for pypi, which takes `Foo_Bar` for `foo-bar`; no other ecosystem does. */
  readonly pypiKey: string | null;
  /**
   * The end of the path, as purls spell it, of whatever is no package of npm: there a name without its scope
   * is another package. Empty: the keys alone.
   */
  readonly path: string;
  /** Beginning of the purl. The key of most types says nothing of the namespace. */
  readonly prefix: string;
  readonly version: string | null;
}

/** Go has the major version at the end of the path: people leave it out. */
const MAJOR = /\/v\d+$/;

/** It is the last part of a name: the index `packages_tail` is of this expression. */
const tailOf = (sql: SqlTag): Fragment =>
  sql`(regexp_replace(regexp_replace(name_key, '/v[0-9]+$', ''), '^.*[/:]', '') collate "C")`;

/**
 * Reads a purl, or a name of any type: `openssl`, `@scope/name`, `group:artifact`, `vendor/name`, the last
 * parts of a path; with `@version` or `==version`, or without. Returns undefined for what is neither.
 */
export function wantedPackage(text: string): WantedPackage | undefined {
  const trimmed = text.trim();
  return /^pkg:/i.test(trimmed) ? wantedPurl(trimmed) : wantedName(trimmed);
}

function wantedPurl(text: string): WantedPackage | undefined {
  const purl = parsePurl(text);
  if (purl === undefined) return undefined;
  const { type, namespace, version = null } = purl;
  const prefix = namespace === undefined ? 'pkg:' : formatPurl({ type, namespace, name: 'x' }).slice(0, -1);
  return { type, keys: [nameKey(purl)], pypiKey: null, path: '', prefix, version };
}

function wantedName(text: string): WantedPackage | undefined {
  // The forms are `group:artifact:version`, `name@version` and `name==version`; a scope begins with its `@`.
  const [, named = text, version = null] =
    /^([^:/@]+:[^:/@]+):([^:/@]+)$/.exec(text) ?? /^(.+?)(?:==|@)([^@/]+)$/.exec(text) ?? [];
  const name = named.trim().toLowerCase();
  const parts = name.split(/[/:]/).filter((part) => part !== '');
  const last = parts.pop();
  if (last === undefined) return undefined;
  const namespace = parts.join('/');
  const path = formatPurl({ type: 'generic', name: last, ...(namespace !== '' && { namespace }) });
  return {
    type: null,
    keys: [name],
    pypiKey: nameKey({ type: 'pypi', name }),
    path: path.slice('pkg:generic'.length).toLowerCase(),
    prefix: 'pkg:',
    version,
  };
}

/**
 * Ids of the sets that hold such a package, the newest first. Packages of deb and apk go by the name of their
 * source as well. Of each package the newest sets alone are read: one that everything holds is in all of
 * them.
 */
export async function setsWith(
  sql: SqlTag,
  scope: TeamScope,
  { wanted, limit }: { readonly wanted: WantedPackage; readonly limit: number },
): Promise<readonly number[]> {
  const { type, keys, pypiKey, path, prefix, version } = wanted;
  const tail = path.replace(MAJOR, '').slice(path.replace(MAJOR, '').lastIndexOf('/') + 1);
  const spelled = sql`split_part(split_part(split_part(lower(purl), '?', 1), '#', 1), '@', 1)`;
  const whole = MAJOR.test(path) ? spelled : sql`regexp_replace(${spelled}, '/v[0-9]+$', '')`;
  const rows = await sql<Array<{ id: number }>>`
    with found as materialized (
      select id from packages
      where team_id = any(${scope.teamIds}::text[]) and (
          name_key = any(${keys}::text[]) or source_key = any(${keys}::text[]) or type = 'pypi' and name_key = ${pypiKey}::text
          or ${tailOf(sql)} = ${decodeURIComponent(tail)} and ${path} <> '' and type <> 'npm' and right(${whole}, length(${path}::text)) = ${path}
        )
        and (${type}::text is null or type = ${type}::text) and (${version}::text is null or version = ${version}::text)
        and starts_with(purl, ${prefix}::text)
    )
    select distinct m.set_id as id from found cross join lateral (
      select set_id from package_set_members where package_id = found.id order by set_id desc limit ${limit}::int
    ) m order by id desc limit ${limit}::int`;
  return rows.map(({ id }) => id);
}

/** Names that are shown, and those that are compared: all that begin alike. */
const NEAR_MAX = 10;
const COMPARED_MAX = 2_000;
/** Letters at the beginning that near names share: those before anything that separates words. */
const ALIKE = /^[^-_.]{2,3}/;

/**
 * Finds names of a team, the nearest first: the same name in another namespace, and what is spelled much
 * alike.
 */
export async function namesNear(
  sql: SqlTag,
  scope: TeamScope,
  { keys: [key = ''] }: WantedPackage,
): Promise<readonly string[]> {
  const wanted = tailOfKey(key);
  const alike = ALIKE.exec(wanted)?.[0];
  if (alike === undefined) return [];
  const rows = await sql<Array<{ name: string; key: string }>>`
    select distinct on (key) key, name from (
      select name_key as key, name from packages
      where team_id = any(${scope.teamIds}::text[]) and ${tailOf(sql)} >= ${alike} and ${tailOf(sql)} < ${`${alike}\u{10ffff}`} limit ${COMPARED_MAX}::int
    ) p order by key, name`;
  return rows
    .map((row) => ({ ...row, distance: distance(wanted, tailOfKey(row.key)) }))
    .filter((row) => row.distance <= Math.max(1, Math.floor(wanted.length / 4)))
    .toSorted((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
    .slice(0, NEAR_MAX)
    .map(({ name }) => name);
}

const tailOfKey = (key: string): string => {
  const short = key.replace(MAJOR, '');
  return short.slice(Math.max(short.lastIndexOf('/'), short.lastIndexOf(':')) + 1);
};

/** Longer names are not compared letter by letter. */
const COMPARED_CHARS_MAX = 60;

/** Counts the letters that differ; what separates words is no letter. */
function distance(one: string, other: string): number {
  const letters = (text: string): string => text.replaceAll(/[-_.]/g, '').slice(0, COMPARED_CHARS_MAX);
  return editDistance(letters(one), letters(other));
}
