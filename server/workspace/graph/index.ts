/**
 * The graph shows how what a caller may see hangs together, computed at read time from the resources
 * themselves.
 */
import { apiError } from '@svc/proto/http/errors.ts';
import { implement, type Handlers } from '@svc/proto/http/implement.ts';
import { GraphEdgeSchema, GraphService } from '@svc/proto/gen/svc/graph/v1/graph_pb.ts';
import type { Ctx } from '../../kit/context.ts';
import type { FeatureGate } from '../../kit/feature-gate.ts';
import { notFound } from '../../kit/not-found.ts';
import { shown } from '../../kit/resource/index.ts';
import { teamsFeature } from '../../access/teams/index.ts';
import { environmentsFeature } from '../../apps/environments/index.ts';
import { projectsFeature } from '../../apps/projects/index.ts';
import { runsFeature } from '../../connect/runs/index.ts';
import { artifactsFeature } from '../../delivery/artifacts/index.ts';
import { promotionsFeature } from '../../delivery/promotions/index.ts';
import { releasesFeature } from '../../delivery/releases/index.ts';
import { buildsFeature } from '../../engine/builds/index.ts';
import { workFeature } from '../../engine/work/index.ts';
import { switchesFeature } from '../../switches/index.ts';
import { declareFeature } from '../../kit/feature.ts';
import { parseRef, presentNode, SCOPE_OF, type Edge, type Node, type NodeKind } from './node.ts';
import { artifactsOfCommit, buildsOfCommit, ciRunsOfCommit, findNode, runsOfCommit } from './store.ts';
import { clampDepth, environmentsAround, HISTORY_MAX, walk } from './walk.ts';

type MaySee = (kind: NodeKind) => boolean;
const presentEdge = (edge: Edge) => shown(GraphEdgeSchema, edge);

export function createGraph(gate: FeatureGate): Handlers<Ctx> {
  /**
   * Every role may read all of its team; what is left to ask is the credential, and whether there is external
   * CI at all.
   */
  const maySee =
    ({ caller }: Ctx): MaySee =>
    (kind) =>
      caller.scopes.has(SCOPE_OF[kind]) && (kind !== 'ci_run' || gate.state('host.ci') === 'open');
  return implement(GraphService, {
    node: async ({ ref }, ctx: Ctx) => presentNode(await nodeOf(ctx, ref, maySee(ctx))),
    edges: async (request, ctx: Ctx) => {
      const start = await nodeOf(ctx, request.ref, maySee(ctx));
      const depth = clampDepth(request.depth);
      const reach = { scope: ctx.teams, depth, maySee: maySee(ctx) };
      const { nodes, edges, truncated } = await walk(ctx.db, start, reach);
      return { nodes: nodes.map(presentNode), edges: edges.map(presentEdge), depth, truncated };
    },
    commit: async ({ sha }, ctx: Ctx) => await commit(ctx, sha.toLowerCase(), maySee(ctx)),
  });
}

/** It keeps the order of all answers: what is not visible is 404 whatever else is missing. */
async function nodeOf(ctx: Ctx, ref: string, maySee: MaySee): Promise<Node> {
  const { kind, id } = parseRef(ref);
  const node = await findNode(ctx.db, ctx.teams, { kind, id });
  if (node === undefined) throw notFound('node');
  ctx.teams.require(node.teamId);
  if (maySee(kind)) return node;
  if (ctx.caller.scopes.has(SCOPE_OF[kind])) throw notFound('node');
  throw apiError(
    'scope_missing',
    `the credential does not hold the scope "${SCOPE_OF[kind]}"; use one that does`,
    {
      details: { scope: SCOPE_OF[kind] },
    },
  );
}

/** Kinds that a commit leads to: what was done with it, and what came of it. */
const OF_COMMIT = [
  ['build', buildsOfCommit],
  ['ci_run', ciRunsOfCommit],
  ['run', runsOfCommit],
  ['artifact', artifactsOfCommit],
] as const;

async function commit(ctx: Ctx, sha: string, maySee: MaySee) {
  const asked = { sha, take: HISTORY_MAX + 1 };
  const of = async ([kind, read]: (typeof OF_COMMIT)[number]): Promise<readonly Node[]> =>
    maySee(kind) ? await read(ctx.db, ctx.teams, asked) : [];
  const found = await Promise.all(OF_COMMIT.map(of));
  const nodes = found.flatMap((some) => some.slice(0, HISTORY_MAX));
  if (nodes.length === 0) throw notFound('commit');
  const [artifacts, acts] = [nodes.filter(isArtifact), nodes.filter((node) => !isArtifact(node))];
  const hung = maySee('environment') ? await environmentsAround(ctx.db, ctx.teams, acts) : [];
  const environments = new Map(hung.map(({ node }) => [node.id, node]));
  return {
    sha,
    nodes: [...acts, ...environments.values(), ...artifacts].map(presentNode),
    edges: hung.map(({ edge }) => presentEdge(edge)),
    truncated: found.some((some) => some.length > HISTORY_MAX),
  };
}

const isArtifact = ({ kind }: Node): boolean => kind === 'artifact';

export const graphFeature = declareFeature({
  name: 'graph',
  on: {
    switches: switchesFeature,
    teams: teamsFeature,
    projects: projectsFeature,
    environments: environmentsFeature,
    work: workFeature,
    builds: buildsFeature,
    runs: runsFeature,
    artifacts: artifactsFeature,
    releases: releasesFeature,
    promotions: promotionsFeature,
  },
  start: (_system, { switches: { switches } }) => ({ services: [createGraph(switches.gate)] }),
});
