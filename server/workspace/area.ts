/** Views over what teams have. */
import type { Area } from '../kit/feature.ts';
import { graphFeature } from './graph/index.ts';
import { spacesFeature } from './spaces/index.ts';

export const workspace: Area = {
  name: 'workspace',
  features: [spacesFeature, graphFeature],
};
