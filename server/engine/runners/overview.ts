/** Says how the runners of a team are, and whether there is one that gets its work. */
// No TeamScope: fragments of statements that take a TeamScope.
import { HealthSchema, type Health } from '@svc/proto/gen/svc/runners/v1/runners_pb.ts';
import { SetupStepKind } from '@svc/proto/gen/svc/teams/v1/teams_pb.ts';
import type { OverviewSource, SetupStepSource } from '../../kit/overview.ts';
import { enumWord } from '../../kit/resource/index.ts';
import type { WorkSettings } from '../work/index.ts';
import { healthOf, listRunners } from './row.ts';

export const regionHasRunners = ({ feedServicePool }: WorkSettings): SetupStepSource => ({
  kind: SetupStepKind.REGION,
  scope: 'runner:read',
  feature: 'host.runners',
  isDone: (sql, { operator }) => sql`${operator === 'customer' || feedServicePool}::boolean`,
});

export const runnerEnrolled: SetupStepSource = {
  kind: SetupStepKind.RUNNER,
  scope: 'runner:read',
  feature: 'host.runners',
  isDone: (sql, { teamId, operator }) =>
    operator === 'customer'
      ? sql`exists (select from runners where team_id = ${teamId} and revoked_at is null)`
      : undefined,
};

export const runnersNow = (settings: WorkSettings): OverviewSource => ({
  scope: 'runner:read',
  feature: 'host.runners',
  read: async ({ db: { sql }, teams, clock }, { teamId }) => {
    const now = clock.now();
    const counts = new Map<Health, number>();
    for (const row of await listRunners(sql, teams, { teamId })) {
      const health = healthOf(row, now, settings);
      counts.set(health, (counts.get(health) ?? 0) + 1);
    }
    return {
      runners: [...counts].map(([health, count]) => ({ health: enumWord(HealthSchema, health), count })),
    };
  },
});
