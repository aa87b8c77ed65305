/** Describes what became of an artifact: what it is part of, where it runs, and what led from it to what. */

export interface ImpactUnknown {
  readonly environments: number;
  readonly withoutList: number;
  readonly partlyRead: number;
}

export interface Impact {
  readonly environments: readonly ImpactEnvironment[];
  readonly releases: ReadonlyArray<{
    readonly id: string;
    readonly projectId: string;
    readonly version: string;
  }>;
  /** Ids, newest first. */
  readonly artifactIds: readonly string[];
  readonly counts: { readonly environments: number; readonly releases: number; readonly artifacts: number };
  readonly truncated: boolean;
  readonly answer: 'hit' | 'no_hit' | 'unknown';
  readonly unknown: ImpactUnknown | null;
  readonly nearNames: readonly string[];
}

export interface ImpactEnvironment {
  readonly environmentId: string;
  readonly environmentName: string;
  readonly digest: string;
  readonly buildId: string | null;
  readonly promotionId: string | null;
  readonly address: string | null;
  readonly deployedAt: Date;
}

export interface LineageNode {
  readonly kind: 'commit' | 'build' | 'ci_run' | 'artifact' | 'release' | 'promotion' | 'deployment';
  readonly id: string;
  readonly name: string;
  readonly state?: string | null;
  readonly at?: Date | null;
}

export interface LineageEdge {
  readonly from: string;
  readonly to: string;
  readonly relation: 'built_by' | 'produced' | 'in' | 'promoted_by' | 'deployed_as';
}

export interface Lineage {
  readonly nodes: readonly LineageNode[];
  readonly edges: readonly LineageEdge[];
  readonly truncated: boolean;
}
