/** Says whether a team has connected CI of a repository. */
// No TeamScope: fragments of statements that take a TeamScope.
import { SetupStepKind } from '@svc/proto/gen/svc/teams/v1/teams_pb.ts';
import type { SetupStepSource } from '../../kit/overview.ts';

export const ciConnected: SetupStepSource = {
  kind: SetupStepKind.CI_CONNECTION,
  scope: 'ci:read',
  feature: 'host.ci',
  isDone: (sql, { teamId }) => sql`exists (select from ci_connections where team_id = ${teamId})`,
};
