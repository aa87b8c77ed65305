/** Two sets of packages are compared by type and name: an image may have several versions of one package. */
import type { TeamScope } from '../../../kit/context.ts';
import type { SqlTag } from '../../../base/db/index.ts';

const CHANGES_MAX = 100;
/** Versions that are shown of one package on one side: a lock file may have dozens. */
const VERSIONS_MAX = 10;

export interface PackageChange {
  readonly type: string;
  readonly name: string;
  /** Versions before; there are none of a package that is added. */
  readonly before: readonly string[];
  /** Versions after; there are none of a package that is removed. */
  readonly after: readonly string[];
}

export interface PackageChanges {
  readonly added: number;
  readonly removed: number;
  readonly changed: number;
  /** The first ones: added ones, then removed, then changed ones. */
  readonly changes: readonly PackageChange[];
}

const NONE: PackageChanges = { added: 0, removed: 0, changed: 0, changes: [] };

/** Compares what each side is made of by all of its sets. The set of another team is empty. */
export async function comparePackages(
  sql: SqlTag,
  scope: TeamScope,
  { before, after }: { readonly before: readonly number[]; readonly after: readonly number[] },
): Promise<PackageChanges> {
  if (new Set([...before, ...after]).size === before.length && before.length === after.length) return NONE;
  const rows = await sql<Array<PackageChange & Omit<PackageChanges, 'changes'>>>`
    with named as (
      select p.type, p.name,
        coalesce(array_agg(distinct p.version order by p.version) filter (where m.set_id = any(${before}::bigint[])), '{}') as before,
        coalesce(array_agg(distinct p.version order by p.version) filter (where m.set_id = any(${after}::bigint[])), '{}') as after
      from package_set_members m join packages p on p.id = m.package_id
      where m.team_id = any(${scope.teamIds}::text[]) and m.set_id = any(${[...before, ...after]}::bigint[])
      group by p.type, p.name
    )
    select type, name, before[1:${VERSIONS_MAX}::int] as before, after[1:${VERSIONS_MAX}::int] as after,
      (count(*) filter (where before = '{}') over ())::int as added,
      (count(*) filter (where after = '{}') over ())::int as removed,
      (count(*) filter (where before <> '{}' and after <> '{}') over ())::int as changed
    from named where before <> after
    order by before <> '{}', after <> '{}', name, type limit ${CHANGES_MAX}::int`;
  const [first] = rows;
  if (first === undefined) return NONE;
  const { added, removed, changed } = first;
  return { added, removed, changed, changes: rows };
}

export interface SetDifference {
  readonly added: number;
  readonly lacking: number;
  /** Count of packages that both name with other claims. */
  readonly otherwise: number;
}

/** Answers what each of the sets says otherwise than the one that they are compared with, by purl. */
export async function setDifferences(
  sql: SqlTag,
  scope: TeamScope,
  { from, ids }: { readonly from: number; readonly ids: readonly number[] },
): Promise<ReadonlyMap<number, SetDifference>> {
  const rows = await sql<Array<SetDifference & { setId: number }>>`
    with stated as (
      select m.set_id, p.purl, array_agg(p.id order by p.id) as claims from package_set_members m join packages p on p.id = m.package_id
      where m.team_id = any(${scope.teamIds}::text[]) and m.set_id = any(${[from, ...ids]}::bigint[]) group by m.set_id, p.purl
    ), compared as (select purl, claims from stated where set_id = ${from}::bigint)
    select s.id as "setId", (count(o.purl) filter (where c.purl is null))::int as added, ((select count(*) from compared) - count(c.purl))::int as lacking,
      (count(*) filter (where o.claims <> c.claims))::int as otherwise
    from unnest(${[...new Set(ids)]}::bigint[]) s (id) left join stated o on o.set_id = s.id left join compared c on c.purl = o.purl
    group by s.id`;
  return new Map(rows.map(({ setId, ...difference }) => [setId, difference]));
}
