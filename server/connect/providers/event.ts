import type { CiStatus } from './words.ts';

/** The name of a run at its provider. */
export interface RunName {
  readonly externalRunId: string;
  readonly externalAttempt: number;
}

/** An event about a run or a job. Absent and null fields change nothing. Times are ISO 8601. */
export interface CiEvent {
  readonly status?: CiStatus | undefined;
  readonly providerStatus?: string | null | undefined;
  readonly providerConclusion?: string | null | undefined;
  readonly blocked?: boolean | undefined;
  readonly soft?: boolean | undefined;
  readonly reason?: string | null | undefined;
  /**
   * Greater is later, at the same provider and attempt; numbers as numbers or digits, also with decimals,
   * times as ISO 8601 of one precision.
   */
  readonly order?: string | number | bigint | null | undefined;
  /**
   * The end that it reports is for good: a run that is started again has an id or an attempt of its own
   * there.
   */
  readonly final?: boolean | undefined;
  readonly facts: Facts;
  /** The facts are changed explicitly, not reported: the last ones stand, whatever was known. */
  readonly corrects?: boolean | undefined;
}

/** An event about one job. */
export interface JobEvent extends CiEvent {
  readonly externalJobId?: string | null | undefined;
  readonly name: string;
  readonly index?: number | undefined;
}

export type FactName =
  | 'actor'
  | 'branch'
  /** The commit that was built: the head or a merge of it, the provider does not say which. */
  | 'builtSha'
  | 'commitSha'
  | 'durationMs'
  | 'environmentId'
  | 'event'
  | 'file'
  | 'finishedAt'
  | 'mergeQueueOf'
  | 'mergeSha'
  | 'name'
  | 'queuedAt'
  | 'stage'
  | 'startedAt'
  | 'tag'
  | 'url';

export type Facts = { readonly [name in FactName]?: string | number | null | undefined };
