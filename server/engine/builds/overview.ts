/** Says which builds are at work or wait, and whether one was made. */
// No TeamScope: fragments of statements that take a TeamScope.
import { SetupStepKind } from '@svc/proto/gen/svc/teams/v1/teams_pb.ts';
import type { OverviewSource, SetupStepSource } from '../../kit/overview.ts';
import { waitingWords, whyWaiting } from '../runners/index.ts';
import type { WorkSettings } from '../work/index.ts';
import { currentBuilds, stateOf } from './row.ts';

export const buildMade: SetupStepSource = {
  kind: SetupStepKind.BUILD,
  scope: 'project:read',
  isDone: (sql, { teamId }) => sql`exists (select from builds where team_id = ${teamId})`,
};

export const buildsNow = (settings: WorkSettings): OverviewSource => ({
  scope: 'project:read',
  read: async ({ db: { sql }, teams }, of) => {
    const rows = await currentBuilds(sql, teams, of);
    const waits = rows
      .filter((row) => stateOf(row) === 'queued')
      .map(({ workId: id, environmentBusy }) => ({ id, environmentBusy }));
    const waiting = await whyWaiting(sql, settings, waits);
    const now = rows.map((row) => ({
      kind: 'build',
      id: row.id,
      text: `#${row.number} of ${row.branch}`,
      state: stateOf(row),
      since: row.createdAt,
      environmentId: row.environmentId,
      runnerName: row.runnerName,
      ...waitingWords(waiting.get(row.workId)),
    }));
    return { now };
  },
});
