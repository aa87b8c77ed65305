/**
 * Finds the route of a request. A trie by path segment; literal before variable before `**`, with
 * backtracking, so the order of registration does not matter. A route that is hidden (its feature is internal
 * and off) is passed over during the search: it neither matches nor shows in Allow, so that the answer is the
 * very one of a path that never existed. An unlisted one matches, and does not show in Allow.
 *
 * Segments are compared as sent, without decoding: `/%61dmin` is not `/admin`, so no rule of a proxy on a
 * path prefix can be walked around. `.`, `..` and empty segments are data that match no literal; a variable
 * does not take an empty one.
 */
import type { RestRoute, RpcInfo, Verb } from './rpc.ts';

/** One way to reach an RPC. */
export interface Target {
  readonly rpc: RpcInfo;
  readonly route: RestRoute;
}

export interface Match<T extends Target> {
  readonly target: T;
  /**
   * Raw (still percent-encoded) text of each variable segment, in path order; a `**` holds the rest with its
   * slashes.
   */
  readonly captures: readonly string[];
}

export type Visible = boolean | 'unlisted';

/** `allow` is empty when no visible route has this path. */
export type Routed<T extends Target> = Match<T> | { readonly allow: readonly Verb[] };

interface Node<T extends Target> {
  readonly literals: Map<string, Node<T>>;
  variable?: Node<T>;
  /** Routes that end here, by custom verb ('' for none). */
  readonly ends: Map<string, T[]>;
  /** Routes that end in a `**` below here. */
  readonly rests: Map<string, T[]>;
}

export interface Router<T extends Target> {
  add(target: T): void;
  /** Finds the route of a `path` without its query, `/a/b`. */
  find(verb: string, path: string, visible: (rpc: RpcInfo) => Visible): Routed<T>;
}

function createNode<T extends Target>(): Node<T> {
  return { literals: new Map(), ends: new Map(), rests: new Map() };
}

export function createRouter<T extends Target>(): Router<T> {
  const root = createNode<T>();
  let customVerbs = false;
  return {
    add(target) {
      customVerbs ||= target.route.customVerb !== undefined;
      insert(root, target);
    },
    find(verb, path, visible) {
      const segments = path.slice(1).split('/');
      // HEAD is a GET whose body is not sent.
      const wanted = verb === 'HEAD' ? 'GET' : verb;
      const search: Search = { wanted, segments, visible, customVerb: '', captures: [], allow: new Set() };
      const cut = customVerbs ? cutCustomVerb(segments) : undefined;
      // A custom verb is one only when a route has it; otherwise the colon is data.
      const found =
        (cut === undefined
          ? undefined
          : descend(root, 0, { ...search, segments: cut.segments, customVerb: cut.verb })) ??
        descend(root, 0, search);
      return found === undefined
        ? { allow: sortedVerbs(search.allow) }
        : { target: found, captures: search.captures };
    },
  };
}

function insert<T extends Target>(root: Node<T>, target: T): void {
  let node = root;
  const { segments, customVerb = '', verb, template } = target.route;
  let multi = false;
  for (const segment of segments) {
    if ('literal' in segment) {
      const next = node.literals.get(segment.literal) ?? createNode<T>();
      node.literals.set(segment.literal, next);
      node = next;
    } else if (segment.multi === true) {
      multi = true;
    } else {
      node.variable ??= createNode<T>();
      node = node.variable;
    }
  }
  const table = multi ? node.rests : node.ends;
  const targets = table.get(customVerb) ?? [];
  if (targets.some((other) => other.route.verb === verb))
    throw new Error(`two RPCs are served at ${verb} ${template}`);
  targets.push(target);
  table.set(customVerb, targets);
}

interface Search {
  readonly wanted: string;
  readonly segments: readonly string[];
  readonly visible: (rpc: RpcInfo) => Visible;
  /** Custom verb of the path; it is empty where there is none. */
  readonly customVerb: string;
  /** Captures of the branch at hand; a branch that fails takes its own back out. */
  readonly captures: string[];
  readonly allow: Set<Verb>;
}

function descend<T extends Target>(node: Node<T>, at: number, search: Search): T | undefined {
  const { segments, captures } = search;
  if (at === segments.length) return choose(node.ends, search) ?? takeRest(node, at, search);
  const segment = segments[at] ?? '';
  const literal = node.literals.get(segment);
  const found = literal === undefined ? undefined : descend(literal, at + 1, search);
  if (found !== undefined) return found;
  if (node.variable !== undefined && segment !== '') {
    captures.push(segment);
    const below = descend(node.variable, at + 1, search);
    if (below !== undefined) return below;
    captures.pop();
  }
  return takeRest(node, at, search);
}

function takeRest<T extends Target>(node: Node<T>, at: number, search: Search): T | undefined {
  const found = choose(node.rests, search);
  if (found !== undefined) search.captures.push(search.segments.slice(at).join('/'));
  return found;
}

function choose<T extends Target>(table: Map<string, T[]>, search: Search): T | undefined {
  let found: T | undefined;
  for (const target of table.get(search.customVerb) ?? []) {
    const visible = search.visible(target.rpc);
    if (visible === false) continue;
    if (visible === true) search.allow.add(target.route.verb);
    if (target.route.verb === search.wanted) found = target;
  }
  return found;
}

function cutCustomVerb(
  segments: readonly string[],
): { segments: readonly string[]; verb: string } | undefined {
  const last = segments[segments.length - 1] ?? '';
  const colon = last.lastIndexOf(':');
  if (colon === -1) return undefined;
  return { segments: [...segments.slice(0, -1), last.slice(0, colon)], verb: last.slice(colon + 1) };
}

const VERB_ORDER: readonly Verb[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

function sortedVerbs(verbs: Set<Verb>): Verb[] {
  return VERB_ORDER.filter((verb) => verbs.has(verb));
}
