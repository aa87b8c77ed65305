/**
 * Here is where the parts of a lineage stand in its drawing: there is a row for each node and a column for
 * each kind, so that every line goes down and to the right. What an artifact came of stands above it, and
 * what became of it below, each under what it came of.
 */
import type { ArtifactsLineageResponse, LineageKind, LineageNode } from '@svc/sdk';

/** Builds and runs that are drawn; their commits come with them. */
export const SOURCES_MAX = 6;
/** Most nodes that are drawn below the artifact. */
export const BELOW_MAX = 24;

export interface LineageRow {
  readonly column: number;
  /** A node, or the number of those that are not drawn. */
  readonly of: LineageNode | number;
}

/** Line from one row to a later one. */
export interface LineageLine {
  readonly from: number;
  readonly to: number;
  /** True where the line comes together with others that lead to the same row. */
  readonly merges: boolean;
}

export interface LineageDrawing {
  readonly rows: readonly LineageRow[];
  readonly lines: readonly LineageLine[];
}

interface Placed {
  readonly rank: number;
  readonly of: LineageNode | number;
  /** Id of the node that a line comes from. */
  readonly under?: string | undefined;
}

/** Ids of what nodes came of. That of the artifact is not in it, because it may be several. */
type Parents = ReadonlyMap<string, string>;

const RANK: Readonly<Record<LineageKind, number>> = {
  commit: 0,
  build: 1,
  ci_run: 1,
  artifact: 2,
  release: 3,
  promotion: 4,
  deployment: 5,
};
const rankOf = ({ kind }: LineageNode): number => RANK[kind];

export function drawingOf(lineage: ArtifactsLineageResponse): LineageDrawing {
  const { nodes } = lineage;
  const parents = parentsOf(lineage);
  const artifact = nodes.find(({ kind }) => kind === 'artifact');
  const above = placedAbove(nodes, parents);
  const middle = artifact === undefined ? [] : [{ rank: RANK.artifact, of: artifact }];
  const placed: readonly Placed[] = [...above, ...middle, ...placedBelow(nodes, parents)];
  const columns = [...new Set(nodes.map(rankOf))].toSorted((a, b) => a - b);
  const rowOf = new Map(placed.map(({ of }, row) => [typeof of === 'number' ? undefined : of.id, row]));
  const down = placed.flatMap(({ under }, to) => {
    const from = under === undefined ? undefined : rowOf.get(under);
    return from === undefined ? [] : [{ from, to, merges: false }];
  });
  const to = above.length;
  const sources = artifact === undefined ? [] : above.flatMap(({ rank }, from) => (rank === 1 ? [from] : []));
  return {
    rows: placed.map(({ rank, of }) => ({ column: columns.indexOf(rank), of })),
    lines: [...down, ...sources.map((from) => ({ from, to, merges: sources.length > 1 }))],
  };
}

function parentsOf({ nodes, edges }: ArtifactsLineageResponse): Parents {
  const ranks = new Map(nodes.map((node) => [node.id, rankOf(node)]));
  return new Map(
    edges.flatMap(({ from, to }): [string, string][] => {
      const [upper, lower] = [ranks.get(from), ranks.get(to)];
      if (upper === undefined || lower === undefined || upper >= lower) return [];
      const isAbove = lower < RANK.artifact;
      const isBelow = upper >= RANK.artifact;
      return isAbove || isBelow ? [[to, from]] : [];
    }),
  );
}

function placedAbove(nodes: readonly LineageNode[], parents: Parents): readonly Placed[] {
  const sources = nodes.filter((node) => rankOf(node) === 1);
  const commits = nodes.filter(({ kind }) => kind === 'commit');
  const shown = new Set(newestFirst(sources).slice(0, SOURCES_MAX));
  const of = (commit: string | undefined): Placed[] =>
    sources
      .filter((node) => shown.has(node) && parents.get(node.id) === commit)
      .map((node) => ({ rank: 1, of: node, under: commit }));
  const groups = commits.map((commit) => [{ rank: 0, of: commit }, ...of(commit.id)]);
  const placed = [...groups.filter(({ length }) => length > 1).flat(), ...of(undefined)];
  const more = sources.length + commits.length - placed.length;
  return more === 0 ? placed : [...placed, { rank: 1, of: more }];
}

function placedBelow(nodes: readonly LineageNode[], parents: Parents): readonly Placed[] {
  const below = nodes.filter((node) => rankOf(node) > RANK.artifact);
  const shown = chosen(below, parents);
  const artifact = nodes.find(({ kind }) => kind === 'artifact')?.id;
  const hidden = new Map<string | undefined, { readonly rank: number; readonly of: number }>();
  for (const node of below.filter(({ id }) => !shown.has(id))) {
    let under = parents.get(node.id);
    while (under !== undefined && under !== artifact && !shown.has(under)) under = parents.get(under);
    const known = hidden.get(under);
    hidden.set(under, {
      rank: Math.min(known?.rank ?? Infinity, rankOf(node)),
      of: (known?.of ?? 0) + 1,
    });
  }
  const walk = (under: string | undefined): readonly Placed[] => {
    const children = below.filter(({ id }) => shown.has(id) && parents.get(id) === under);
    const more = hidden.get(under);
    return [
      ...children.flatMap((of) => [{ rank: rankOf(of), of, under }, ...walk(of.id)]),
      ...(more === undefined ? [] : [{ ...more, under }]),
    ];
  };
  return artifact === undefined ? walk(undefined) : [...walk(artifact), ...walk(undefined)];
}

/** Ids of the newest ones, with what they came of. */
function chosen(below: readonly LineageNode[], parents: Parents): ReadonlySet<string> {
  const ids = new Set(below.map(({ id }) => id));
  const shown = new Set<string>();
  for (const { id } of newestFirst(below)) {
    const line: string[] = [];
    for (
      let at: string | undefined = id;
      at !== undefined && ids.has(at) && !shown.has(at);
      at = parents.get(at)
    )
      line.push(at);
    if (shown.size + line.length <= BELOW_MAX) for (const each of line) shown.add(each);
  }
  return shown;
}

/** Returns the newest first, those of no known time last, and otherwise keeps their order. */
function newestFirst(nodes: readonly LineageNode[]): readonly LineageNode[] {
  const time = ({ at }: LineageNode): number => (at === undefined ? 0 : Date.parse(at));
  return nodes.toSorted((a, b) => time(b) - time(a));
}
