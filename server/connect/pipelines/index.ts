/** Pipelines of connections are known by their runs, and defined by what a search finds. */
import { declareFeature } from '../../kit/feature.ts';
import { described, findsByName } from '../../kit/search.ts';
import { connectionsFeature } from '../connections/index.ts';
import { providersFeature } from '../providers/index.ts';
import { pipelineRows } from './store.ts';

export { definePipelines, ensurePipeline, pipelineRows } from './store.ts';
export type { Pipeline, Recording } from './store.ts';

export const pipelinesFeature = declareFeature({
  name: 'pipelines',
  on: { connections: connectionsFeature, providers: providersFeature },
  reads: ['ci_pipelines'],
  start: () => {
    const { table } = pipelineRows;
    return { fills: [findsByName({ ...described(table, 'ci:read', table.name), feature: 'host.ci' })] };
  },
});
