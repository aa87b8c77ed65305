/** Each feature says what of its own somebody wants to know first of a team. */
import type { OverviewResponse, SetupStepKind } from '@svc/proto/gen/svc/teams/v1/teams_pb.ts';
import type { SqlTag } from '../base/db/index.ts';
import type { Fragment } from '../base/sql.ts';
import type { Ctx } from './context.ts';
import { port } from './feature.ts';
import type { Row } from './resource/index.ts';
import type { Operator } from './resource/schema.ts';
import type { SeenBy } from './seen-by.ts';

export interface OverviewOf {
  readonly teamId: string;
  /** Operator of the runners that get the team's work. */
  readonly operator: Operator;
  /** Items of each list. */
  readonly take: number;
}

/** One feature's part; lists of several features are joined. */
export type Glance = Omit<Row<OverviewResponse>, 'steps' | 'needsYou'>;

export interface OverviewSource extends SeenBy {
  read(ctx: Ctx, of: OverviewOf): Promise<Glance>;
}

export interface SetupStepSource extends SeenBy {
  readonly kind: SetupStepKind;
  /**
   * Builds the condition under which the team has done it; all of it is a constant but for its values.
   * Undefined: such a team does not need it.
   */
  isDone(sql: SqlTag, of: OverviewOf): Fragment | undefined;
}

export const overviewSources = port<OverviewSource>('what is known first of a team');
export const setupSteps = port<SetupStepSource>('what is to be set up in a team');
