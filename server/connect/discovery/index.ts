/** Repositories are searched for the files that define pipelines. */
import { implementPart } from '@svc/proto/http/implement.ts';
import { CiService } from '@svc/proto/gen/svc/ci/v1/ci_pb.ts';
import { declareFeature } from '../../kit/feature.ts';
import { connectionsFeature } from '../connections/index.ts';
import { pipelinesFeature } from '../pipelines/index.ts';
import { providersFeature } from '../providers/index.ts';
import { discoverJob } from './handler.ts';
import { discoveryMethods } from './methods.ts';

export const discoveryFeature = declareFeature({
  name: 'discovery',
  on: { connections: connectionsFeature, pipelines: pipelinesFeature, providers: providersFeature },
  prefixes: ['cid'],
  start: (system) => ({
    services: [implementPart(CiService, discoveryMethods())],
    jobs: [discoverJob(system)],
  }),
});
