/** Reads what an artifact is made of from its document, in a thread of its own, and keeps the set of packages. The first document of an artifact that can be read stands. */
import type { Database } from '../../platform/db/index.ts';
import type { PackageList } from './sbom/package-list.ts';
import type { SbomReader } from './sbom/sbom-reader.ts';
import { storePackageSet } from './sbom/store.ts';

export interface StoreSbomDeps {
  readonly db: Database;
  readonly reader: SbomReader;
  readonly signal: AbortSignal;
}

interface Which {
  readonly teamId: string;
  readonly id: string;
}

const UNREAD_MAX = 100;
const LOST = 'the list of packages that its runner reported is lost';

/** `sha256`: of a stored document. */
export async function storeSbom(
  { db: { sql }, reader, signal }: StoreSbomDeps,
  { teamId, id }: Which,
  given: { readonly sha256: string } | { readonly problem: string },
): Promise<void> {
  if ('problem' in given) return await noteProblem(sql, id, given.problem);
  const { sha256 } = given;
  const [stored] = await sql<Array<{ document: Uint8Array }>>`
    select document from sboms where team_id = ${teamId} and sha256 = ${sha256}
      and exists (select from artifacts a where a.id = ${id} and a.package_set_id is null)`;
  // To one that has its packages it does nothing.
  if (stored === undefined) return await noteProblem(sql, id, LOST);
  const read = await reader.read(stored.document, signal);
  if ('problem' in read) return await noteProblem(sql, id, read.problem);
  const unread = unreadOf(read);
  const { setId } = await storePackageSet(sql, teamId, read.packages);
  await sql`
    update artifacts set package_set_id = ${setId}::bigint, sbom_sha256 = ${sha256}, sbom_unread = ${unread}::text[], sbom_problem = null
    where id = ${id} and package_set_id is null`;
}

/** For people. */
export function unreadOf({ incomplete, dropped }: Pick<PackageList, 'incomplete' | 'dropped'>): string[] {
  const nameless = dropped === 0 ? [] : [`${dropped} entries without a usable name`];
  return [...incomplete.slice(0, UNREAD_MAX), ...nameless];
}

async function noteProblem(sql: Database['sql'], id: string, problem: string): Promise<void> {
  await sql`update artifacts set sbom_problem = ${problem} where id = ${id} and package_set_id is null`;
}
