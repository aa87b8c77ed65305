/** Where an artifact came from and where it went, computed from the rows themselves. */
import type {
  LineageEdge,
  LineageNode,
  LineageResponse,
} from '@svc/proto/gen/svc/artifacts/v1/artifacts_pb.ts';
import type { Ctx } from '../../kit/context.ts';
import { rankOf, type Artifact } from '../artifacts/index.ts';
import { deploymentsOfArtifact } from '../promotions/index.ts';
import type { Row } from '../../kit/resource/index.ts';

/** Nodes of each kind, the newest; with the commits of the sources they are some 500 in all. */
const EACH_MAX = 100;

/** A node with what it comes of: commits of sources, releases of promotions. */
type FoundNode = Row<LineageNode> & { readonly of: string | null; readonly repository?: string | null };

export async function lineageOf(
  { db: { sql }, teams }: Ctx,
  artifact: Artifact,
): Promise<Row<LineageResponse>> {
  const { id, teamId, name, createdAt: at } = artifact;
  const ours = sql`team_id = ${teamId} and team_id = any(${teams.teamIds}::text[])`;
  const found = await Promise.all([
    sql<FoundNode[]>`
      select origin as kind, ref as id, coalesce(environment_name, repository, '') as name, at, commit as of, repository
      from artifact_sources x where ${ours} and artifact_id = ${id} and origin <> 'declared' order by ${rankOf(sql)}, at desc, ref desc limit ${EACH_MAX + 1}::int`,
    sql<FoundNode[]>`
      select 'release' as kind, id, version as name, created_at as at, ${id} as of from releases
      where ${ours} and id in (select release_id from release_artifacts where team_id = ${teamId} and artifact_id = ${id}) order by id desc limit ${EACH_MAX + 1}::int`,
    sql<FoundNode[]>`
      select 'promotion' as kind, id, environment_name as name, state, created_at as at, release_id as of from promotions
      where ${ours} and release_id in (select release_id from release_artifacts where team_id = ${teamId} and artifact_id = ${id}) order by id desc limit ${EACH_MAX + 1}::int`,
    sql<FoundNode[]>`
      select 'deployment' as kind, id, environment_name as name, how as state, deployed_at as at, coalesce(promotion_id, ${id}) as of
      from (${deploymentsOfArtifact(sql, artifact)}) d where ${ours} order by id desc limit ${EACH_MAX + 1}::int`,
  ]);
  const [reported = [], releases = [], promotions = [], deployments = []] = found.map((newest) =>
    newest.slice(0, EACH_MAX).reverse(),
  );
  // Builds are taken first, as runs can be reported in any number.
  const sources = reported.toSorted((a, b) => Number(a.at) - Number(b.at));
  const commits = new Map(
    sources.flatMap(({ of, repository }) =>
      of === null ? [] : [[of, { kind: 'commit', id: of, name: repository ?? '' } as const]],
    ),
  );
  const nodes: ReadonlyArray<Row<LineageNode>> = [
    ...commits.values(),
    ...sources,
    { kind: 'artifact', id, name, at },
    ...releases,
    ...promotions,
    ...deployments,
  ];
  const shown = new Set(nodes.map((node) => node.id));
  const edge = (from: string | null, to: string, relation: string): Row<LineageEdge> => ({
    from: from ?? '',
    to,
    relation,
  });
  const edges = [
    ...sources.flatMap((source) => [
      ...(source.of === null ? [] : [edge(source.of, source.id, 'built_by')]),
      edge(source.id, id, 'produced'),
    ]),
    ...releases.map((release) => edge(id, release.id, 'in')),
    ...promotions.map((promotion) => edge(promotion.of, promotion.id, 'promoted_by')),
    ...deployments.map((deployment) => edge(deployment.of, deployment.id, 'deployed_as')),
  ];
  return {
    nodes,
    edges: edges.filter(({ from, to }) => shown.has(from) && shown.has(to)),
    truncated: found.some(({ length }) => length > EACH_MAX),
  };
}
