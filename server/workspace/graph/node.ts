/** Nodes and edges, and their names: `graph:<kind>:<id>`. */
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { EdgeRelation, NodeKind as NodeKindNumber } from '@svc/proto/gen/svc/graph/v1/graph_pb.ts';

export type NodeKind =
  | 'team'
  | 'project'
  | 'environment'
  | 'build'
  | 'run'
  | 'ci_run'
  | 'artifact'
  | 'release'
  | 'promotion';
export type Relation = 'contains' | 'ran' | 'in' | 'promoted_by' | 'promoted_to';

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

const NUMBERS: Readonly<Record<NodeKind, NodeKindNumber>> = {
  team: NodeKindNumber.TEAM,
  project: NodeKindNumber.PROJECT,
  environment: NodeKindNumber.ENVIRONMENT,
  build: NodeKindNumber.BUILD,
  run: NodeKindNumber.RUN,
  ci_run: NodeKindNumber.CI_RUN,
  artifact: NodeKindNumber.ARTIFACT,
  release: NodeKindNumber.RELEASE,
  promotion: NodeKindNumber.PROMOTION,
};

const RELATIONS: Readonly<Record<Relation, EdgeRelation>> = {
  contains: EdgeRelation.CONTAINS,
  ran: EdgeRelation.RAN,
  in: EdgeRelation.IN,
  promoted_by: EdgeRelation.PROMOTED_BY,
  promoted_to: EdgeRelation.PROMOTED_TO,
};

export function refOf({ kind, id }: Pick<Node, 'kind' | 'id'>): string {
  return `graph:${kind}:${id}`;
}

/** The contract's pattern has checked it: no id holds a colon. */
export function parseRef(ref: string): { kind: NodeKind; id: string } {
  const [, kind = '', id = ''] = ref.split(':');
  return { kind: kind as NodeKind, id };
}

export function presentNode(node: Node) {
  const { kind, state, createdAt, ...rest } = node;
  return {
    ...rest,
    ref: refOf(node),
    kind: NUMBERS[kind],
    ...(state === null ? {} : { state }),
    createdAt: timestampFromDate(createdAt),
  };
}

export function presentEdge({ from, to, relation }: Edge) {
  return { from, to, relation: RELATIONS[relation] };
}
