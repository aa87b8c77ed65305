/** The graph: how what a caller may see hangs together, computed at read time from the resources themselves. */
import type { Feature } from '../../platform/feature.ts';
import { apiError } from '@svc/proto/http/errors.ts';
import { implement } from '@svc/proto/http/implement.ts';
import type { Handlers } from '@svc/proto/http/implement.ts';
import { GraphService } from '@svc/proto/gen/svc/graph/v1/graph_pb.ts';
import type { Ctx } from '../../platform/context.ts';
import { notFound } from '../../platform/not-found.ts';
import { parseRef, presentEdge, presentNode, refOf, SCOPE_OF } from './node.ts';
import type { Edge, Node, NodeKind } from './node.ts';
import { artifactsOfCommit, environmentsOfRuns, findNode, runsOfCommit } from './store.ts';
import { clampDepth, HISTORY_MAX, walk } from './walk.ts';

export function createGraph(): Handlers<Ctx> {
  return implement(GraphService, {
    node: async ({ ref }, ctx: Ctx) => presentNode(await nodeOf(ctx, ref)),
    edges: async (request, ctx: Ctx) => {
      const start = await nodeOf(ctx, request.ref);
      const depth = clampDepth(request.depth);
      const { nodes, edges, truncated } = await walk(ctx.db, start, {
        scope: ctx.teams,
        depth,
        maySee: (kind) => maySee(ctx, kind),
      });
      return { nodes: nodes.map(presentNode), edges: edges.map(presentEdge), depth, truncated };
    },
    commit: async ({ sha }, ctx: Ctx) => await commit(ctx, sha.toLowerCase()),
  });
}

/** Every role may read all of its team; what is left to ask is the credential. */
function maySee({ caller }: Ctx, kind: NodeKind): boolean {
  return caller.scopes.has(SCOPE_OF[kind]);
}

/** In the order of all answers: what is not visible is 404 whatever else is missing. */
async function nodeOf(ctx: Ctx, ref: string): Promise<Node> {
  const { kind, id } = parseRef(ref);
  const node = await findNode(ctx.db, ctx.teams, { kind, id });
  if (node === undefined) throw notFound('node');
  ctx.teams.require(node.teamId);
  if (maySee(ctx, kind)) return node;
  throw apiError(
    'scope_missing',
    `the credential does not hold the scope "${SCOPE_OF[kind]}"; use one that does`,
    {
      details: { scope: SCOPE_OF[kind] },
    },
  );
}

async function commit(ctx: Ctx, sha: string) {
  const asked = { sha, take: HISTORY_MAX + 1 };
  const found = await runsOfCommit(ctx.db, ctx.teams, asked);
  const made = maySee(ctx, 'artifact') ? await artifactsOfCommit(ctx.db, ctx.teams, asked) : [];
  const [runs, artifacts] = [found, made].map((some) => some.slice(0, HISTORY_MAX)) as [Node[], Node[]];
  if (runs.length + artifacts.length === 0) throw notFound('commit');
  const runIds = runs.map(({ id }) => id);
  const hung = maySee(ctx, 'environment') ? await environmentsOfRuns(ctx.db, ctx.teams, runIds) : [];
  const environments = new Map<string, Node>();
  const edges: Edge[] = [];
  for (const { of, ...environment } of hung) {
    environments.set(environment.id, environment);
    edges.push({ from: refOf(environment), to: refOf({ kind: 'run', id: of }), relation: 'ran' });
  }
  return {
    sha,
    nodes: [...runs, ...environments.values(), ...artifacts].map(presentNode),
    edges: edges.map(presentEdge),
    truncated: found.length > HISTORY_MAX || made.length > HISTORY_MAX,
  };
}

export const graphFeature: Feature = { services: [createGraph()] };
