/**
 * These settings are limits of every team: how many runners it has, and how much of its work waits. Plans may
 * lower them.
 */
import { limit } from '@svc/proto/process/settings.ts';

export const settings = {
  runnersPerTeamMax: limit('LIMIT_RUNNERS_PER_TEAM', 1_000, 'Runners of one team.'),
  queuedRunsPerTeamMax: limit('LIMIT_QUEUED_RUNS_PER_TEAM', 10_000, 'Sandbox runs of one team that wait.'),
};
