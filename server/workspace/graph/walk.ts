/**
 * Walks the graph from one node, step by step, each edge in both directions. All nodes that can be reached
 * are of the first node's team, and every statement is limited to the teams of the call; what is bounded is
 * how many there are.
 */
import type { TeamScope } from '../../kit/context.ts';
import type { Database } from '../../base/db/index.ts';
import { refOf, type Edge, type Node, type NodeKind } from './node.ts';
import { readNeighbours, STEPS, type Step } from './store.ts';

export const NODES_MAX = 200;
/**
 * One step goes to so much of what grows with a team's history, so that it does not crowd out what else there
 * is.
 */
export const HISTORY_MAX = 50;
const LASTING: ReadonlySet<NodeKind> = new Set(['team', 'project', 'environment']);
const DEPTH_MAX = 3;
const DEPTH_DEFAULT = 1;

export function clampDepth(depth: number | undefined): number {
  return Math.min(DEPTH_MAX, Math.max(0, depth ?? DEPTH_DEFAULT));
}

interface Reach {
  readonly scope: TeamScope;
  /** Kinds of which the caller may read nodes; the others are neither shown nor walked through. */
  readonly maySee: (kind: NodeKind) => boolean;
}

export async function walk(
  db: Database,
  start: Node,
  { scope, depth, maySee }: Reach & { readonly depth: number },
) {
  const nodes = new Map([[refOf(start), start]]);
  const edges = new Map<string, Edge>();
  let truncated = false;
  let frontier: readonly Node[] = [start];

  for (let distance = 1; distance <= depth && frontier.length > 0; distance += 1) {
    const around = await neighbours(db, frontier, { teamId: start.teamId, scope, maySee });
    truncated ||= around.truncated;
    const next: Node[] = [];
    for (const { node, edge } of around.found) {
      const known = nodes.has(refOf(node));
      if (!known && nodes.size >= NODES_MAX) {
        truncated = true;
        continue;
      }
      nodes.set(refOf(node), node);
      edges.set(`${edge.from} ${edge.to}`, edge);
      if (!known) next.push(node);
    }
    frontier = next;
  }
  return { nodes: [...nodes.values()], edges: [...edges.values()], truncated };
}

interface Neighbour {
  readonly node: Node;
  readonly edge: Edge;
}

async function neighbours(
  db: Database,
  frontier: readonly Node[],
  { teamId, scope, maySee }: Reach & { readonly teamId: string },
) {
  const found: Neighbour[] = [];
  let truncated = false;
  for (const [kind, asked] of byKind(frontier)) {
    for (const step of STEPS[kind].filter((candidate) => maySee(candidate.kind))) {
      const take = LASTING.has(step.kind) ? NODES_MAX : HISTORY_MAX;
      const rows = await readNeighbours(db, scope, {
        read: step.read,
        teamId,
        ids: asked.map(({ id }) => id),
        take: take + 1,
      });
      truncated ||= rows.length > take;
      for (const { of, ...node } of rows.slice(0, take))
        found.push({ node, edge: edgeOf(step, { kind, id: of }, node) });
    }
  }
  return { found, truncated };
}

/** The environments that builds and runs hang on, which are of the same team each. */
export async function environmentsAround(
  db: Database,
  scope: TeamScope,
  nodes: readonly Node[],
): Promise<readonly Neighbour[]> {
  const teamIds = [...new Set(nodes.map(({ teamId }) => teamId))];
  const around = teamIds.map(
    async (teamId) =>
      await neighbours(
        db,
        nodes.filter((node) => node.teamId === teamId),
        { teamId, scope, maySee: (kind) => kind === 'environment' },
      ),
  );
  return (await Promise.all(around)).flatMap(({ found }) => found);
}

function byKind(nodes: readonly Node[]): ReadonlyMap<NodeKind, readonly Node[]> {
  const groups = new Map<NodeKind, Node[]>();
  for (const node of nodes) groups.set(node.kind, [...(groups.get(node.kind) ?? []), node]);
  return groups;
}

/** Edges point from what was there first to what came of it, whichever way they were walked. */
function edgeOf(step: Step, asked: Pick<Node, 'kind' | 'id'>, found: Node): Edge {
  const [from, to] = step.side === 'child' ? [asked, found] : [found, asked];
  return { from: refOf(from), to: refOf(to), relation: step.relation ?? 'contains' };
}
