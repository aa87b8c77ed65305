/** Says which runs are at work or wait, and whether one succeeded. */
// No TeamScope: fragments of statements that take a TeamScope.
import { SetupStepKind } from '@svc/proto/gen/svc/teams/v1/teams_pb.ts';
import type { OverviewSource, SetupStepSource } from '../../kit/overview.ts';
import { waitingWords, whyWaiting } from '../runners/index.ts';
import type { WorkSettings } from '../work/index.ts';
import { currentRuns } from './row.ts';

/** More of the newest runs are not looked at, so that the answer costs the same whatever a team had. */
const LOOKED_AT = 1_000;
const TEXT_MAX = 200;

export const runSucceeded: SetupStepSource = {
  kind: SetupStepKind.RUN,
  scope: 'run:read',
  isDone: (sql, { teamId }) => sql`
    exists (
      select from (
        select state from work_items where team_id = ${teamId} and kind = 'run'
        order by created_at desc nulls last, id desc nulls last limit ${LOOKED_AT}::int
      ) w where w.state = 'succeeded'
    )`,
};

export const runsNow = (settings: WorkSettings): OverviewSource => ({
  scope: 'run:read',
  read: async ({ db: { sql }, teams }, of) => {
    const rows = await currentRuns(sql, teams, of);
    const waits = rows.filter(({ state }) => state === 'queued');
    const waiting = await whyWaiting(sql, settings, waits);
    const now = rows.map(({ id, state, createdAt: since, runnerName, spec }) => ({
      kind: 'run',
      id,
      text: spec.command.join(' ').slice(0, TEXT_MAX),
      state,
      since,
      runnerName,
      ...waitingWords(waiting.get(id)),
    }));
    return { now };
  },
});
