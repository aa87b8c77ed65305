/** Reads what an artifact is made of by all of its lists. */
import { notFound } from '../../kit/not-found.ts';
import type { Page } from '../../kit/paging.ts';
import type { Who } from '../../kit/resource/index.ts';
import type { artifactSboms } from './schema.ts';
import { packagesOfAll } from './sbom/store.ts';

type Source = (typeof artifactSboms.$inferSelect)['source'];

/**
 * Each as it is stated, with who states it. The key of the page is the purl and the id. Throws `not_found`
 * where nothing is known.
 */
export async function packagesOf(
  { db: { sql }, teams }: Who,
  artifactId: string,
  { after, take }: Pick<Page, 'after' | 'take'>,
) {
  const lists = await sql<Array<{ setId: number; sources: readonly Source[] }>>`
    select package_set_id as "setId", array_agg(distinct source order by source) as sources from artifact_sboms
    where team_id = any(${teams.teamIds}::text[]) and artifact_id = ${artifactId} group by package_set_id`;
  if (lists.length === 0) throw notFound('list of packages');
  const sourcesOf = new Map(lists.map(({ setId, sources }) => [setId, sources]));
  const behind = after === undefined ? undefined : { purl: String(after[0]), id: Number(after[1]) };
  const found = await packagesOfAll(sql, teams, {
    setIds: [...sourcesOf.keys()],
    after: behind,
    limit: take,
  });
  return found.map(({ setIds, ...stated }) => ({
    ...stated,
    listedBy: [...new Set(setIds.flatMap((setId) => sourcesOf.get(setId) ?? []))].toSorted(),
  }));
}
