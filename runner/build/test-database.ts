/** The interface between a build and the code that gives its steps a database of their own. */
import type { Endpoint } from '../network/egress.ts';
import type { BuildPlan } from './plan.ts';

export interface TestDatabases {
  /**
   * Resolves when it answers. `isContained`: the steps have a network of the runner, and otherwise the
   * engine's. Throws MachineFailed when it cannot be brought up; nothing of it is left then.
   */
  open(plan: BuildPlan, isContained: boolean): Promise<TestDatabase | undefined>;
  /** Values that must not show up in output. */
  secretsOf(ref: Pick<BuildPlan, 'id' | 'epoch'>): string[];
  /** Removes what builds of an earlier process left. */
  sweep(): Promise<void>;
}

export interface TestDatabase {
  /** Variables of the build steps. */
  readonly env: Readonly<Record<string, string>>;
  /** The steps reach it there. */
  readonly endpoint: Endpoint;
  close(): Promise<void>;
}
