/**
 * Reads what an artifact is made of from the document of a runner, in a thread of its own, and keeps it as
 * one of its lists.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { Database } from '../../base/db/index.ts';
import { keepList } from './sbom/lists.ts';
import type { PackageList } from './sbom/package-list.ts';
import type { SbomReader } from './sbom/sbom-reader.ts';
import { storePackageSet } from './sbom/store.ts';

export interface StoreSbomDeps {
  readonly db: Database;
  readonly reader: SbomReader;
  readonly signal: AbortSignal;
}

interface ListedImage {
  readonly teamId: string;
  readonly id: string;
  readonly runnerId: string;
  readonly at: Date;
}

const UNREAD_MAX = 100;
/**
 * Lists that are kept of one artifact: more builds of the same digest add nothing that is worth to be kept.
 */
const RUNNER_LISTS_MAX = 10;
const LOST = 'the list of packages that its runner reported is lost';

/** Reads and keeps the list of a stored document, which `sha256` names. */
export async function storeSbom(
  { db: { sql }, reader, signal }: StoreSbomDeps,
  { teamId, id, runnerId, at }: ListedImage,
  given: { readonly sha256: string } | { readonly problem: string },
): Promise<void> {
  if ('problem' in given) return await noteProblem(sql, id, given.problem);
  const { sha256 } = given;
  const known = await sql<Array<{ sha256: string }>>`
    select sha256 from artifact_sboms where team_id = ${teamId} and artifact_id = ${id} and source = 'runner'`;
  if (known.length >= RUNNER_LISTS_MAX || known.some((list) => list.sha256 === sha256)) return;
  const document = await storedDocument(sql, teamId, sha256);
  if (document === undefined) return await noteProblem(sql, id, LOST);
  const read = await reader.read(document, signal);
  if ('problem' in read) return await noteProblem(sql, id, read.problem);
  const { setId: packageSetId } = await storePackageSet(sql, teamId, read.packages);
  const list = { source: 'runner', sha256, packageSetId, unread: unreadOf(read), by: runnerId, at } as const;
  await keepList(sql, { teamId, artifactId: id, ...list });
  await sql`update artifacts set sbom_problem = null where id = ${id}`;
}

/** Names the statement that refers to the document of a runner. */
export const sbomKey = (digest: string, sha256: string): string => `sbom:${digest}:${sha256}`;

export async function storedDocument(
  sql: Database['sql'],
  teamId: string,
  sha256: string,
): Promise<Uint8Array | undefined> {
  const [stored] = await sql<Array<{ document: Uint8Array }>>`
    select document from sboms where team_id = ${teamId} and sha256 = ${sha256}`;
  return stored?.document;
}

/** Says in words for people what a list leaves out. */
export function unreadOf({ packages, incomplete, dropped }: PackageList): string[] {
  const nameless = dropped === 0 ? [] : [`${dropped} entries without a usable name`];
  const empty = packages.length === 0 ? ['the document names no package'] : [];
  return [...incomplete.slice(0, UNREAD_MAX), ...nameless, ...empty];
}

/** No other build tells anything of an artifact that a runner has listed. */
async function noteProblem(sql: Database['sql'], id: string, problem: string): Promise<void> {
  await sql`
    update artifacts a set sbom_problem = ${problem}
    where id = ${id} and not exists (select from artifact_sboms s where s.artifact_id = a.id and s.source = 'runner')`;
}
