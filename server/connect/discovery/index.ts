/** Repositories are searched for the files that define pipelines. */
import { declareFeature } from '../../kit/feature.ts';
import { connectionsFeature } from '../connections/index.ts';
import { pipelinesFeature } from '../pipelines/index.ts';
import { providersFeature } from '../providers/index.ts';
import { discoverJob } from './handler.ts';
import { createDiscoveries } from './methods.ts';

export const discoveryFeature = declareFeature({
  name: 'discovery',
  on: { connections: connectionsFeature, pipelines: pipelinesFeature, providers: providersFeature },
  prefixes: ['cid'],
  start: (system) => ({
    services: [createDiscoveries()],
    jobs: [discoverJob(system)],
  }),
});
