/** Types of what a file of a CI system defines, as far as it can be read without that system. */

export const CI_DEFINITION_PROVIDERS = [
  'github',
  'gitlab',
  'circleci',
  'bitbucket',
  'azure',
  'buildkite',
  'drone',
  'jenkins',
] as const;
export type CiDefinitionProvider = (typeof CI_DEFINITION_PROVIDERS)[number];

/** Reason for which a pipeline is thought to deploy. */
export interface DeployEvidence {
  /** 1-based. */
  readonly line: number;
  /** The line of the file, trimmed, at most 200 characters. */
  readonly text: string;
  readonly why: string;
  /** `certain`: a construct of the CI system that means a deployment. Others are added up. */
  readonly strength: 'certain' | 'strong' | 'weak';
}

export interface DefinedJob {
  /** As the CI system names the job in its file: the key where jobs are keys, else the label. */
  readonly name: string;
  /** 1-based. */
  readonly line: number;
  readonly stage?: string;
  /** The one definition becomes several jobs. */
  readonly matrix?: true;
  /**
   * Name of what the job runs instead of steps of its own: a reusable workflow, a child pipeline, another
   * pipeline.
   */
  readonly calls?: string;
  /** Never runs, such as `if: false`. */
  readonly disabled?: true;
}

export interface DefinedPipeline {
  readonly provider: CiDefinitionProvider;
  readonly name: string;
  readonly path: string;
  readonly jobs: readonly DefinedJob[];
  /** Words of the CI system; empty when the file does not say. */
  readonly triggers: readonly string[];
  readonly deployDetected: boolean;
  readonly evidence: readonly DeployEvidence[];
  /** Other files or shared code hold a part of the pipeline. */
  readonly partial?: true;
  /** The jobs are made while it runs. */
  readonly dynamic?: true;
  /** Nothing of what runs is in the file. */
  readonly opaque?: true;
  /** Some job has a matrix. */
  readonly matrix?: true;
  readonly includes?: readonly string[];
}

export interface DefinitionProblem {
  /** 1-based. */
  readonly line: number;
  /** 1-based. */
  readonly column: number;
  readonly message: string;
  /** With an error, the CI system would refuse the file, and no pipeline is read from it. */
  readonly severity: 'error' | 'warning';
}

export interface ParsedDefinition {
  /** CI system; it is absent when neither the path nor the content tells. */
  readonly provider?: CiDefinitionProvider;
  readonly pipelines: readonly DefinedPipeline[];
  readonly problems: readonly DefinitionProblem[];
}
