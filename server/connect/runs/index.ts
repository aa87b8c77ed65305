/**
 * Jobs and webhooks report runs of external CI and their jobs; providers are asked about those that are
 * silent.
 */
import { environmentsFeature } from '../../apps/environments/index.ts';
import { declareFeature, fill, port } from '../../kit/feature.ts';
import { described, findsById } from '../../kit/search.ts';
import { connectionFollowers, connectionsFeature, type ConnectionFollower } from '../connections/index.ts';
import { pipelinesFeature } from '../pipelines/index.ts';
import { providersFeature } from '../providers/index.ts';
import { placeRuns } from './environment.ts';
import { pollJob, startCiHealth } from './health.ts';
import { createReads } from './reads.ts';
import { createReports, reportedRun } from './reports.ts';
import type { RunFollower } from './run.ts';
import { ciRuns } from './schema.ts';

export type { Settled } from './accept.ts';
export { buildsPullRequest, definitionFile, isForStrangers, refOf, commitOf } from './ci-job.ts';
export { nameOf } from './reads.ts';
export { recordJobs } from './record-jobs.ts';
export { recordEvents, runById } from './record-runs.ts';
export type { Step } from './record-runs.ts';
export { learnNames } from './run-joins.ts';
export type { JoinedRuns } from './run-joins.ts';
export type { Run, RunFollower } from './run.ts';
export { findRun } from './runs-store.ts';

/** Features above fill it with what follows when a run was made or has changed. */
export const runFollowers = port<RunFollower>('runs.followers');

/** A connection that was given its project has its runs placed. */
const followProject: ConnectionFollower = async ({ db, teams }, { before, after }) => {
  if (before.projectId !== after.projectId) await placeRuns(db, teams, after);
};

export const runsFeature = declareFeature({
  name: 'runs',
  on: {
    environments: environmentsFeature,
    connections: connectionsFeature,
    pipelines: pipelinesFeature,
    providers: providersFeature,
  },
  prefixes: ['cij'],
  reads: ['ci_run_environments', 'ci_runs'],
  start: (system) => {
    const follow: RunFollower = async (...change) => {
      for (const each of system.filled(runFollowers)) await each(...change);
    };
    return {
      follow,
      reportedRun,
      services: [createReads(), createReports(follow)],
      loops: [() => startCiHealth({ ...system, follow })],
      jobs: [pollJob({ ...system, follow })],
      fills: [
        findsById({ ...described(ciRuns, 'ci:read', ciRuns.externalRunId), feature: 'host.ci' }),
        fill(connectionFollowers, followProject),
      ],
    };
  },
});
