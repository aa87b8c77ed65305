/** Stores packages and sets of packages in the database. */
// No TeamScope: given the row, or the team, that the call was authorised for.
import { hash } from 'node:crypto';
import type { TeamScope } from '../../../kit/context.ts';
import type { SqlTag } from '../../../base/db/index.ts';
import { claimOf, inOrder, type SbomPackage } from './package-list.ts';

export interface StoredSet {
  readonly setId: number;
  /** See `package_sets`. */
  readonly digest: Uint8Array;
  /** This is false where there was one already. */
  readonly added: boolean;
}

/**
 * Stores the set unless the team has it. `packages` have each claim once: a set is shared by documents that
 * say the same of the same packages, and by no others. Of two calls at once that share some, one may wait for
 * the other, but never both for each other: all insert in one order. What was inserted stays when a later
 * statement fails, which is no harm.
 */
export async function storePackageSet(
  sql: SqlTag,
  teamId: string,
  packages: readonly SbomPackage[],
): Promise<StoredSet> {
  const stated = inOrder(packages).map((each) => ({ ...each, claim: hash('sha256', claimOf(each), 'hex') }));
  const claims = stated.map(({ claim }) => claim);
  const digest = hash('sha256', claims.join('\n'), 'buffer');
  const find = async () =>
    await sql<Array<{ id: number }>>`
    select id from package_sets where team_id = ${teamId} and digest = ${digest}`;
  const [before] = await find();
  if (before !== undefined) return { setId: before.id, digest, added: false };
  await sql`
    insert into packages (team_id, type, name, name_key, source_key, version, purl, licenses, claim)
    select ${teamId}, p.type, p.name, p."nameKey", p."sourceKey", p.version, p.purl, p.licenses, decode(p.claim, 'hex')
    from json_to_recordset(${sql.json(stated)}::json) as p
      (type text, name text, "nameKey" text, "sourceKey" text, version text, purl text, licenses text[], claim text)
    on conflict do nothing`;
  const size = sizeOf(packages);
  // A statement of its own, because that one does not see what others inserted meanwhile. A package that is
  // not there fails it: package_id is not null.
  const [made] = await sql<Array<{ id: number }>>`
    with made as (
      insert into package_sets (team_id, digest, packages, chars, created_at)
      values (${teamId}, ${digest}, ${size.packages}::int, ${size.chars}::int, now())
      on conflict do nothing returning id
    ), members as (
      insert into package_set_members (team_id, set_id, package_id, place)
      select ${teamId}, made.id, p.id, m.place
      from made cross join unnest(${claims}::text[]) with ordinality m (claim, place)
        left join packages p on p.team_id = ${teamId} and p.claim = decode(m.claim, 'hex')
    )
    select id from made`;
  const stored = made ?? (await find())[0];
  if (stored === undefined) throw new Error(`the package set of ${teamId} was removed while it was stored`);
  return { setId: stored.id, digest, added: made !== undefined };
}

/** Returns how many packages a set has, and how long it is what a policy is told of them. */
export const sizeOf = (packages: readonly SbomPackage[]) => ({
  packages: packages.length,
  chars: packages.reduce((sum, each) => sum + charsOf(each), 0),
});

const charsOf = ({ type, name, version, licenses }: SbomPackage): number =>
  JSON.stringify({ type, name, version, licenses }).length + 1;

/** A package as at least one of several sets states it, and which of them do. */
export interface StatedPackage extends SbomPackage {
  readonly id: number;
  readonly setIds: readonly number[];
}

interface PackagesQuery extends Pick<StatedPackage, 'setIds'> {
  readonly after?: Pick<StatedPackage, 'purl' | 'id'> | undefined;
  readonly limit: number;
}

/**
 * Reads those of all sets, in the order of purls, from behind the package `after` on. Purls are ASCII, so
 * that the order is that of the places.
 */
export async function packagesOfAll(
  sql: SqlTag,
  scope: TeamScope,
  { setIds, after, limit }: PackagesQuery,
): Promise<readonly StatedPackage[]> {
  const behind =
    after === undefined ? sql`` : sql`and (p.purl collate "C", p.id) > (${after.purl}, ${after.id}::bigint)`;
  return await sql<StatedPackage[]>`
    select p.id, p.type, p.name, p.version, p.purl, p.name_key as "nameKey", p.source_key as "sourceKey", p.licenses,
      array_agg(m.set_id) as "setIds"
    from package_set_members m join packages p on p.id = m.package_id
    where m.team_id = any(${scope.teamIds}::text[]) and m.set_id = any(${setIds}::bigint[]) ${behind}
    group by p.id order by p.purl collate "C", p.id limit ${limit}::int`;
}

export type PackageFacts = Pick<SbomPackage, 'type' | 'name' | 'version' | 'licenses'>;

/** It limits one set, and all that are read at once; see `packagesOfSets`. */
export const PACKAGES_MAX = 10_000;
export const PACKAGES_AT_ONCE_MAX = 20_000;
/**
 * One more than a policy takes stands for what is not read: part of the packages would be a lie, and this is
 * refused.
 */
const TOO_MANY: readonly PackageFacts[] = Array.from({ length: PACKAGES_MAX + 1 }, () => ({
  type: '',
  name: '',
  version: '',
  licenses: [],
}));

/** Reads what policies are told of the packages of sets; a set of another team is missing. */
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
  const members = await sql<Array<PackageFacts & { setId: number; id: number }>>`
    select m.set_id as "setId", p.id, p.type, p.name, p.version, p.licenses
    from package_set_members m join packages p on p.id = m.package_id
    where m.set_id = any(${readIds}::bigint[]) order by m.set_id, m.place`;
  // One object a package: whoever puts sets together has each once.
  const all = new Map<number, PackageFacts>();
  for (const { setId, id, ...member } of members) {
    const known = all.get(id);
    if (known === undefined) all.set(id, member);
    (found.get(setId) as PackageFacts[]).push(known ?? member);
  }
  return found;
}
