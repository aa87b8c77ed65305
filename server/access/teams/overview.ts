/** This file joins what the features say of a team at this moment. */
// No TeamScope: given the row, or the team, that the call was authorised for.
import {
  OverviewResponseSchema,
  type OverviewResponse,
  type SetupStepKind,
} from '@svc/proto/gen/svc/teams/v1/teams_pb.ts';
import type { SqlTag } from '../../base/db/index.ts';
import type { Ctx } from '../../kit/context.ts';
import type { Glance, OverviewOf, SetupStepSource } from '../../kit/overview.ts';
import { shown } from '../../kit/resource/index.ts';
import { seenIn } from '../../kit/seen-by.ts';
import type { TeamsDeps } from './acts.ts';
import { inbox } from './search.ts';
import type { Team } from './store.ts';

const TAKE = 20;
const NEEDS_YOU = 10;

type Work = NonNullable<Glance['now']>[number];

export async function overview(
  { overviewSources, inboxSources, setupSteps, gate }: TeamsDeps,
  ctx: Ctx,
  { id: teamId, operator }: Team,
): Promise<OverviewResponse> {
  const isSeen = seenIn(ctx, gate, teamId);
  const of = { teamId, operator, take: TAKE };
  const [needsYou, steps, ...glances] = await Promise.all([
    inbox(ctx, { sources: inboxSources(), gate }, { teamId, take: NEEDS_YOU }),
    stepsOf(ctx.db.sql, setupSteps().filter(isSeen), of),
    ...overviewSources()
      .filter(isSeen)
      .map(async ({ read }) => await read(ctx, of)),
  ]);
  const all = <Part>(part: (glance: Glance) => readonly Part[] | null | undefined): Part[] =>
    glances.flatMap((glance) => part(glance) ?? []);
  return shown(OverviewResponseSchema, {
    needsYou,
    steps,
    now: all(({ now }) => now)
      .sort(inOrder)
      .slice(0, TAKE),
    environments: all(({ environments }) => environments),
    runners: all(({ runners }) => runners),
    monthToDate: glances.find(({ monthToDate }) => monthToDate !== undefined)?.monthToDate,
  });
}

interface StepRow {
  readonly kind: SetupStepKind;
  readonly done: boolean;
}

async function stepsOf(
  sql: SqlTag,
  sources: readonly SetupStepSource[],
  of: OverviewOf,
): Promise<readonly StepRow[]> {
  const parts = sources.flatMap(({ kind, isDone }) => {
    const condition = isDone(sql, of);
    return condition === undefined ? [] : [sql`select ${kind}::int as kind, (${condition})::boolean as done`];
  });
  if (parts.length === 0) return [];
  return await sql<StepRow[]>`
    ${parts.reduce((before, part) => sql`${before} union all ${part}`)} order by kind`;
}

/** Work that a runner has comes first, newest first; what waits comes behind it, oldest first. */
function inOrder(a: Work, b: Work): number {
  const [first, second] = [isWaiting(a), isWaiting(b)];
  if (first !== second) return Number(first) - Number(second);
  const later = madeAt(a) - madeAt(b);
  return first ? later : -later;
}

const isWaiting = ({ waitingReason }: Work): boolean => waitingReason !== undefined && waitingReason !== null;
const madeAt = ({ since }: Work): number => since?.getTime() ?? 0;
