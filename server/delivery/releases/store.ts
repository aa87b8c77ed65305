/** Finds the rows of releases, and the artifacts of one. */
import { and, eq, inArray, or, sql } from 'drizzle-orm';
import { notFound } from '../../kit/not-found.ts';
import { inTeams, rowsOf, type RowOf, type Who } from '../../kit/resource/index.ts';
import { artifactRows, artifacts, type Artifact } from '../artifacts/index.ts';
import { releaseArtifacts, releases } from './schema.ts';

export type Release = RowOf<typeof releases>;

export const releaseRows = rowsOf(releases);

/** A release may hold so many. */
const ARTIFACTS_MAX = 100;

/** Ordered by digest. */
export async function artifactsOf(who: Who, releaseId: string): Promise<readonly Artifact[]> {
  const ids = who.db.orm
    .select({ id: releaseArtifacts.artifactId })
    .from(releaseArtifacts)
    .where(and(inTeams(releaseArtifacts, who.teams), eq(releaseArtifacts.releaseId, releaseId)));
  const where = inArray(artifacts.id, ids);
  return await artifactRows.list(who, { where, by: artifacts.digest, max: ARTIFACTS_MAX });
}

/** Ordered by digest. Throws `not_found` for one that the team does not have. */
export async function artifactsOfTeam(
  who: Who,
  teamId: string,
  ids: readonly string[],
): Promise<readonly Artifact[]> {
  const given = sql`${sql.param([...ids])}::text[]`;
  const named = or(sql`${artifacts.id} = any(${given})`, sql`${artifacts.digest} = any(${given})`);
  const where = and(eq(artifacts.teamId, teamId), named);
  const found = await artifactRows.list(who, { where, by: artifacts.digest, max: ARTIFACTS_MAX });
  const known = new Set(found.flatMap(({ id, digest }) => [id, digest]));
  if (ids.some((id) => !known.has(id))) throw notFound(artifactRows.kind);
  return found;
}
