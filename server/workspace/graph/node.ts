/** Nodes and edges, and their names: `graph:<kind>:<id>`. */
import {
  GraphNodeSchema,
  type EdgeRelation,
  type NodeKind as Kind,
} from '@svc/proto/gen/svc/graph/v1/graph_pb.ts';
import { shown } from '../../kit/resource/index.ts';

type WordOf<Enum> = Lowercase<Exclude<keyof Enum & string, 'UNSPECIFIED'>>;

export type NodeKind = WordOf<typeof Kind>;
export type Relation = WordOf<typeof EdgeRelation>;

export interface Node {
  readonly kind: NodeKind;
  readonly id: string;
  readonly teamId: string;
  readonly name: string;
  /** State of a build, a run of either kind, and a promotion. */
  readonly state: string | null;
  readonly createdAt: Date;
}

export interface Edge {
  readonly from: string;
  readonly to: string;
  readonly relation: Relation;
}

/** What a credential must hold to see a node of a kind: the same as for the resource that it stands for. */
export const SCOPE_OF: Readonly<Record<NodeKind, string>> = {
  team: 'team:read',
  project: 'project:read',
  environment: 'project:read',
  build: 'project:read',
  run: 'run:read',
  ci_run: 'ci:read',
  artifact: 'artifact:read',
  release: 'release:read',
  promotion: 'release:read',
};

export function refOf({ kind, id }: Pick<Node, 'kind' | 'id'>): string {
  return `graph:${kind}:${id}`;
}

/** The contract's pattern has checked it: no id holds a colon. */
export function parseRef(ref: string): { kind: NodeKind; id: string } {
  const [, kind = '', id = ''] = ref.split(':');
  return { kind: kind as NodeKind, id };
}

export const presentNode = (node: Node) => shown(GraphNodeSchema, { ...node, ref: refOf(node) });
