/** What runs in environments: what the platform deployed there last or, if that was later, what somebody said to have deployed elsewhere. */
import { eq } from 'drizzle-orm';
import { environmentRows } from '../../apps/environments/index.ts';
import { projectRows } from '../../apps/projects/index.ts';
import type { Ctx } from '../../platform/context.ts';
import type { Who } from '../../platform/resource/index.ts';
import { readArtifacts } from '../artifacts/index.ts';
import type { ArtifactRow } from '../artifacts/index.ts';

/** Of the contract. Columns are absent or null where nothing is known. */
export interface Image {
  readonly releaseId?: string | null;
  readonly version?: string | null;
  readonly promotionId?: string | null;
  readonly buildId?: string | null;
  readonly artifactId?: string | null;
  readonly name?: string;
  readonly digest?: string | null;
  readonly commit?: string | null;
  readonly url?: string | null;
  readonly since?: Date;
}

export interface Running {
  readonly environmentId: string;
  readonly how: 'promotion' | 'approved' | 'direct' | 'rollback' | 'elsewhere';
  readonly image: Image;
  readonly artifact: ArtifactRow | undefined;
}

type Row = Pick<Running, 'environmentId' | 'how'> &
  Required<
    Pick<Image, 'releaseId' | 'version' | 'promotionId' | 'buildId' | 'artifactId' | 'digest' | 'url'>
  > & {
    readonly since: Date;
  };

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

export function factsOf(
  artifact: ArtifactRow | undefined,
): Pick<Image, 'artifactId' | 'name' | 'digest' | 'commit'> {
  if (artifact === undefined) return {};
  const { id: artifactId, name, digest, commit } = artifact;
  return { artifactId, name, digest, commit: commit === '' ? null : commit };
}

async function readRunning(
  { db: { sql }, teams }: Who,
  { teamId, environmentIds }: Places,
): Promise<readonly Row[]> {
  const ours = [...teams.teamIds];
  return await sql<Row[]>`
    select e.id as "environmentId", n.how, coalesce(p.release_id, r.id) as "releaseId", coalesce(p.version, r.version) as version,
      p.id as "promotionId", n.build_id as "buildId", a.id as "artifactId", n.digest, n.url, n.since
    from unnest(${[...environmentIds]}::text[]) e(id)
    cross join lateral (
      select d.project_id, d.how, d.promotion_id, d.build_id, d.digest, d.address as url, d.deployed_at as since
      from deployment_heads h join deployments d on d.build_id = h.build_id
      where h.environment_id = e.id and d.team_id = ${teamId} and d.team_id = any(${ours}::text[])
      union all
      (
        select x.project_id, 'elsewhere', x.id, null, null, x.url, x.ended_at
        from promotions x
        where x.environment_id = e.id and x.team_id = ${teamId} and x.team_id = any(${ours}::text[]) and x.state = 'deployed' and x.build_id is null
        order by x.ended_at desc, x.id desc limit 1
      )
      order by since desc, build_id limit 1
    ) n
    left join promotions p on p.id = n.promotion_id and p.team_id = ${teamId}
    left join lateral (
      select x.id from artifacts x where x.team_id = ${teamId} and x.digest = n.digest
      union all
      -- Elsewhere: the image that was asked for, or the only one.
      select min(x.id) from release_artifacts ra join artifacts x on x.id = ra.artifact_id
      where n.digest is null and ra.release_id = p.release_id and ra.team_id = ${teamId} and x.kind = 'image' and x.id = coalesce(p.artifact_id, x.id)
      having count(*) = 1
    ) a on true
    left join lateral (
      select x.id, x.version from release_artifacts ra join releases x on x.id = ra.release_id
      where p.id is null and ra.team_id = ${teamId} and ra.artifact_id = a.id and x.project_id = n.project_id
      order by ra.release_id desc limit 1
    ) r on true`;
}

/** Of the environments that there are, by their names. */
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
