/** A run as the rest of Connect knows it. */
import type { CiState } from '../accept.ts';
import type { RunView } from '../run-view.ts';

/** The name of a run at its provider. */
export interface RunName {
  readonly externalRunId: string;
  readonly externalAttempt: number;
}

export interface Run extends RunView {
  readonly id: string;
  readonly teamId: string;
  readonly connectionId: string;
  readonly pipelineId: string;
  readonly pipelineName: string;
  readonly externalRunId: string;
  readonly externalAttempt: number;
  readonly environmentId: string | null;
  /** Other environments in whose timelines it stands, the oldest first. */
  readonly alsoIn: readonly string[];
  readonly state: CiState;
  readonly lost: boolean;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}
