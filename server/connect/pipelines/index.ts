/** Pipelines of connections are known by their runs, and defined by what a search finds. */
import { declareFeature } from '../../kit/feature.ts';
import { connectionsFeature } from '../connections/index.ts';
import { providersFeature } from '../providers/index.ts';

export { definePipelines, ensurePipeline, pipelineRows } from './store.ts';
export type { Pipeline, Recording } from './store.ts';

export const pipelinesFeature = declareFeature({
  name: 'pipelines',
  on: { connections: connectionsFeature, providers: providersFeature },
  reads: ['ci_pipelines'],
  start: () => ({}),
});
