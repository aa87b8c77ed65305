/**
 * Tarjan's strongly connected components. Without recursion, because a chain of dependencies may be longer
 * than the stack is deep.
 */

/** Nodes are numbers from 0; `edges[n]` are the nodes that `n` points at. */
export type Edges = readonly (readonly number[])[];

/**
 * Groups of nodes that reach each other, every group after all groups that it points at. A node outside of
 * any cycle is a group of its own; linear in nodes and edges.
 */
export function stronglyConnected(edges: Edges): number[][] {
  const groups: number[][] = [];
  /** Order of discovery, from 1; 0: not seen yet. */
  const found = new Uint32Array(edges.length);
  /** Earliest node still on `open` that is reachable. */
  const low = new Uint32Array(edges.length);
  const nextEdge = new Uint32Array(edges.length);
  const isOpen = new Uint8Array(edges.length);
  const open: number[] = [];
  const path: number[] = [];
  let count = 0;

  const enter = (node: number): void => {
    found[node] = low[node] = ++count;
    isOpen[node] = 1;
    open.push(node);
    path.push(node);
  };
  const lower = (node: number, to: number): void => {
    if (to < low[node]!) low[node] = to;
  };
  const leave = (node: number): void => {
    path.pop();
    const parent = path.at(-1);
    if (parent !== undefined) lower(parent, low[node]!);
    if (low[node] !== found[node]) return;
    const group = open.splice(open.lastIndexOf(node));
    for (const member of group) isOpen[member] = 0;
    groups.push(group);
  };

  for (let start = 0; start < edges.length; start++) {
    if (found[start] !== 0) continue;
    enter(start);
    for (let node = path.at(-1); node !== undefined; node = path.at(-1)) {
      const next = edges[node]![nextEdge[node]!++];
      if (next === undefined) leave(node);
      else if (found[next] === 0) enter(next);
      else if (isOpen[next] === 1) lower(node, found[next]!);
    }
  }
  return groups;
}

/**
 * Says whether a group of `stronglyConnected` is a cycle: more than one node, or one that points at itself.
 */
export function isCycle(group: readonly number[], edges: Edges): boolean {
  const [first] = group;
  return group.length > 1 || (first !== undefined && edges[first]!.includes(first));
}

/**
 * A shortest way from a node of a cycle back to itself, both ends named; within `group`, ignoring edges from
 * a node to itself.
 */
export function shortestCycle(group: readonly number[], edges: Edges): number[] {
  const start = Math.min(...group);
  const members = new Set(group);
  const cameFrom = new Map<number, number>();
  const queue = [start];
  for (const node of queue) {
    for (const next of edges[node]!) {
      if (next === node || !members.has(next)) continue;
      if (next === start) return wayTo(node, cameFrom, start);
      if (cameFrom.has(next)) continue;
      cameFrom.set(next, node);
      queue.push(next);
    }
  }
  return [start, start];
}

function wayTo(last: number, cameFrom: ReadonlyMap<number, number>, start: number): number[] {
  const way = [start];
  for (let node: number | undefined = last; node !== undefined && node !== start; node = cameFrom.get(node))
    way.push(node);
  way.push(start);
  return way.reverse();
}
