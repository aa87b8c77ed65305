/** Packages and sets of packages in the database. */
import { createHash } from 'node:crypto';
import { nameKey, formatPurl, parsePurl } from '@svc/proto/packages/purl.ts';
import type { TeamScope } from '../../../platform/context.ts';
import type { SqlTag } from '../../../platform/db/index.ts';
import type { SbomPackage } from './package-list.ts';

export interface StoredSet {
  readonly setId: number;
  /** SHA-256 of the sorted purls, joined by line feeds. */
  readonly digest: Uint8Array;
  /** False: there was one already. */
  readonly added: boolean;
}

export interface SetMember extends SbomPackage {
  /** In the set, from 1 on. */
  readonly place: number;
}

/**
 * Stores the set unless the team has it. `packages` have each purl once. Of two calls at once that share some, one may wait for the other, but never both for each
 * other: all insert in the order of purls. What was inserted stays when a later statement fails, which is no harm.
 */
export async function storePackageSet(
  sql: SqlTag,
  teamId: string,
  packages: readonly SbomPackage[],
): Promise<StoredSet> {
  const sorted = packages.toSorted((a, b) => (a.purl < b.purl ? -1 : 1));
  const purls = sorted.map(({ purl }) => purl);
  const digest = createHash('sha256').update(purls.join('\n')).digest();
  const find = async () =>
    (
      await sql<Array<{ id: number }>>`
        select id from package_sets where team_id = ${teamId} and digest = ${digest}`
    )[0];
  const before = await find();
  if (before !== undefined) return { setId: before.id, digest, added: false };
  await sql`
    insert into packages (team_id, type, name, name_key, source_key, version, purl, licenses)
    select ${teamId}, p.type, p.name, p."nameKey", p."sourceKey", p.version, p.purl, p.licenses
    from json_to_recordset(${sql.json(sorted)}::json) as p
      (type text, name text, "nameKey" text, "sourceKey" text, version text, purl text, licenses text[])
    on conflict do nothing`;
  // A statement of its own, because that one does not see what others inserted meanwhile. A package that is not there fails it: package_id is not null.
  const [made] = await sql<Array<{ id: number }>>`
    with made as (
      insert into package_sets (team_id, digest, packages, created_at)
      values (${teamId}, ${digest}, ${purls.length}::int, now())
      on conflict do nothing returning id
    ), members as (
      insert into package_set_members (team_id, set_id, package_id, place)
      select ${teamId}, made.id, p.id, m.place
      from made cross join unnest(${purls}::text[]) with ordinality m (purl, place)
        left join packages p on p.team_id = ${teamId} and p.purl = m.purl
    )
    select id from made`;
  const stored = made ?? (await find());
  if (stored === undefined) throw new Error(`the package set of ${teamId} was removed while it was stored`);
  return { setId: stored.id, digest, added: made !== undefined };
}

/** In the order of purls, from behind the place `after` on. Empty for the set of another team. */
export async function packagesOfSet(
  sql: SqlTag,
  scope: TeamScope,
  { setId, after = 0, limit }: { readonly setId: number; readonly after?: number; readonly limit: number },
): Promise<readonly SetMember[]> {
  return await sql<SetMember[]>`
    select m.place, p.type, p.name, p.version, p.purl, p.name_key as "nameKey", p.source_key as "sourceKey", p.licenses
    from package_set_members m join packages p on p.id = m.package_id
    where m.team_id = any(${scope.teamIds}::text[]) and m.set_id = ${setId}::bigint and m.place > ${after}::int
    order by m.place limit ${limit}::int`;
}

export type PackageFacts = Pick<SbomPackage, 'type' | 'name' | 'version' | 'licenses'>;

/** Of one set, and of all that are read at once; see `packagesOfSets`. */
export const PACKAGES_MAX = 10_000;
const PACKAGES_AT_ONCE_MAX = 20_000;
/** One more than a policy takes stands for what is not read: part of the packages would be a lie, and this is refused. */
const TOO_MANY: readonly PackageFacts[] = Array.from({ length: PACKAGES_MAX + 1 }, () => ({
  type: '',
  name: '',
  version: '',
  licenses: [],
}));

/** What policies are told of the packages of sets; a set of another team is missing. */
export async function packagesOfSets(
  sql: SqlTag,
  scope: TeamScope,
  setIds: readonly number[],
): Promise<ReadonlyMap<number, readonly PackageFacts[]>> {
  const sets = await sql<Array<{ id: number; isRead: boolean }>>`
    select id, packages <= ${PACKAGES_MAX}::int and sum(packages) over (order by id) <= ${PACKAGES_AT_ONCE_MAX}::int as "isRead"
    from package_sets where team_id = any(${scope.teamIds}::text[]) and id = any(${setIds}::bigint[])`;
  const found = new Map<number, readonly PackageFacts[]>(
    sets.map(({ id, isRead }) => [id, isRead ? [] : TOO_MANY]),
  );
  const readIds = sets.flatMap(({ id, isRead }) => (isRead ? [id] : []));
  const members = await sql<Array<PackageFacts & { setId: number }>>`
    select m.set_id as "setId", p.type, p.name, p.version, p.licenses
    from package_set_members m join packages p on p.id = m.package_id
    where m.set_id = any(${readIds}::bigint[]) order by m.set_id, m.place`;
  for (const { setId, ...member } of members) (found.get(setId) as PackageFacts[]).push(member);
  return found;
}

/**
 * Ids of the sets that hold a package of that name, the newest first. A name is that of any type, `@scope/name`, `group:artifact`, or a purl, which with a version means
 * that one alone. Packages of deb and apk go by the name of their source as well. Of each package the newest sets alone are read: one that everything holds is in all of them.
 */
export async function setsWith(
  sql: SqlTag,
  scope: TeamScope,
  { name, limit }: { readonly name: string; readonly limit: number },
): Promise<readonly number[]> {
  const wanted = wantedPackage(name);
  if (wanted === undefined) return [];
  const { type, keys, prefix, version } = wanted;
  const rows = await sql<Array<{ id: number }>>`
    with found as materialized (
      select id from packages
      where team_id = any(${scope.teamIds}::text[]) and (name_key = any(${keys}::text[]) or source_key = any(${keys}::text[]))
        and (${type}::text is null or type = ${type}::text) and (${version}::text is null or version = ${version}::text)
        and starts_with(purl, ${prefix}::text)
    )
    select distinct m.set_id as id from found cross join lateral (
      select set_id from package_set_members where package_id = found.id order by set_id desc limit ${limit}::int
    ) m order by id desc limit ${limit}::int`;
  return rows.map(({ id }) => id);
}

interface WantedPackage {
  readonly type: string | null;
  readonly keys: readonly string[];
  /** Of the purl. The key of most types says nothing of the namespace. */
  readonly prefix: string;
  readonly version: string | null;
}

function wantedPackage(name: string): WantedPackage | undefined {
  const text = name.trim();
  if (!/^pkg:/i.test(text)) {
    const bare = { type: 'pypi', name: text };
    // Python's `Foo_Bar` is `foo-bar`, whichever way people write it.
    const keys = text === '' ? [] : [...new Set([text.toLowerCase(), nameKey(bare)])];
    return { type: null, keys, prefix: 'pkg:', version: null };
  }
  const purl = parsePurl(text);
  if (purl === undefined) return undefined;
  const { type, namespace, version = null } = purl;
  const prefix = namespace === undefined ? 'pkg:' : formatPurl({ type, namespace, name: 'x' }).slice(0, -1);
  return { type, keys: [nameKey(purl)], prefix, version };
}

/** Undefined: the team has no such set. */
export async function packageCount(
  sql: SqlTag,
  scope: TeamScope,
  setId: number,
): Promise<number | undefined> {
  const [set] = await sql<Array<{ packages: number }>>`
    select packages from package_sets where team_id = any(${scope.teamIds}::text[]) and id = ${setId}::bigint`;
  return set?.packages;
}
