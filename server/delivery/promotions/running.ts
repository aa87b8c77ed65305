/**
 * Reads what runs in environments: what the platform deployed there last or, if that was later, what somebody
 * said to have deployed elsewhere.
 */
import { eq } from 'drizzle-orm';
import type { PromotionImage } from '@svc/proto/gen/svc/promotions/v1/promotions_pb.ts';
import { environmentRows } from '../../apps/environments/index.ts';
import { projectRows } from '../../apps/projects/index.ts';
import type { Ctx } from '../../kit/context.ts';
import type { Row, Who } from '../../kit/resource/index.ts';
import { readArtifacts, type ArtifactRow } from '../artifacts/index.ts';
import { runsThere, whatRuns } from './what-runs.ts';

export interface Running {
  readonly environmentId: string;
  readonly how: string;
  readonly image: Row<PromotionImage>;
  readonly artifact: ArtifactRow | undefined;
}

export interface Places {
  readonly teamId: string;
  readonly environmentIds: readonly string[];
}

/** In any order, and without those in which nothing is known to run. */
export async function runningIn(who: Who, places: Places): Promise<readonly Running[]> {
  const rows = await readRunning(who, places);
  const ids = rows.flatMap(({ artifactId }) => artifactId ?? []);
  const read = ids.length === 0 ? [] : await readArtifacts(who, places.teamId, [...new Set(ids)]);
  const artifacts = new Map(read.map((artifact) => [artifact.id, artifact]));
  return rows.map(({ environmentId, how, ...image }) => {
    const artifact = artifacts.get(image.artifactId ?? '');
    return { environmentId, how, image: { ...image, ...factsOf(artifact) }, artifact };
  });
}

export function factsOf(artifact: ArtifactRow | undefined): Row<PromotionImage> {
  if (artifact === undefined) return {};
  const { id: artifactId, name, digest, commit } = artifact;
  return { artifactId, name, digest, commit: commit === '' ? null : commit };
}

async function readRunning(
  { db: { sql }, teams }: Who,
  { teamId, environmentIds }: Places,
): Promise<ReadonlyArray<Omit<Running, 'image' | 'artifact'> & Running['image']>> {
  const ours = [...teams.teamIds];
  const environments = sql`select * from unnest(${[...environmentIds]}::text[])`;
  return await sql<Array<Omit<Running, 'image' | 'artifact'> & Running['image']>>`
    select n.environment_id as "environmentId", n.how, coalesce(n.release_id, r.id) as "releaseId", coalesce(n.version, r.version) as version,
      n.promotion_id as "promotionId", n.build_id as "buildId", a.id as "artifactId", n.digest, n.address as url, n.deployed_at as since
    from (${whatRuns(sql, teamId, environments)}) n
    left join lateral (
      -- Elsewhere: the image that was asked for, or the only one.
      select min(t.id) as id from (${runsThere(sql, teamId)}) t join artifacts x on x.id = t.id where n.digest is not null or x.kind = 'image' having count(*) = 1
    ) a on true
    left join lateral (
      select x.id, x.version from release_artifacts ra join releases x on x.id = ra.release_id
      where n.promotion_id is null and ra.team_id = ${teamId} and ra.artifact_id = a.id and x.project_id = n.project_id
      order by ra.release_id desc limit 1
    ) r on true where ${teamId} = any(${ours}::text[])`;
}

/** Answers what runs in the environments that there are, by their names. */
export async function running(
  ctx: Ctx,
  { projectId }: { readonly projectId: string },
): Promise<ReadonlyArray<Omit<Running, 'artifact'> & { readonly environmentName: string }>> {
  const { id, teamId } = await projectRows.find(ctx, projectId);
  const { projectId: of, name: by } = environmentRows.table;
  const environments = await environmentRows.list(ctx, { where: eq(of, id), by });
  const rows = await runningIn(ctx, { teamId, environmentIds: environments.map((each) => each.id) });
  const found = new Map(rows.map((row) => [row.environmentId, row]));
  return environments.flatMap(({ id: environmentId, name: environmentName }) => {
    const row = found.get(environmentId);
    return row === undefined ? [] : [{ environmentId, environmentName, how: row.how, image: row.image }];
  });
}
