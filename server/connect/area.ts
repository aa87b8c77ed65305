/** The area knows runs of external CI systems, and the timeline of both. */
import type { Area } from '../kit/feature.ts';
import { commitStatusFeature } from './commitstatus/index.ts';
import { connectionsFeature } from './connections/index.ts';
import { deliveriesFeature } from './deliveries/index.ts';
import { discoveryFeature } from './discovery/index.ts';
import { identityFeature } from './identity/index.ts';
import { pipelinesFeature } from './pipelines/index.ts';
import { providersFeature } from './providers/index.ts';
import { runsFeature } from './runs/index.ts';
import { timelineFeature } from './timeline/index.ts';

export const connect: Area = {
  name: 'connect',
  features: [
    providersFeature,
    connectionsFeature,
    pipelinesFeature,
    discoveryFeature,
    runsFeature,
    commitStatusFeature,
    deliveriesFeature,
    identityFeature,
    timelineFeature,
  ],
};
