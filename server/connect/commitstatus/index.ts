/** Statuses of commits are posted to the hosts of repositories as runs begin and end. */
import { declareFeature, fill } from '../../kit/feature.ts';
import { connectionsFeature } from '../connections/index.ts';
import { pipelinesFeature } from '../pipelines/index.ts';
import { providersFeature } from '../providers/index.ts';
import { runFollowers, runsFeature } from '../runs/index.ts';
import { commitStatusJob, wantCommitStatus } from './handler.ts';

export const commitStatusFeature = declareFeature({
  name: 'commitstatus',
  on: {
    connections: connectionsFeature,
    pipelines: pipelinesFeature,
    providers: providersFeature,
    runs: runsFeature,
  },
  start: (system) => ({
    jobs: [commitStatusJob(system)],
    fills: [fill(runFollowers, wantCommitStatus)],
  }),
});
