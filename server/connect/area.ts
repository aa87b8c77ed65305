/** Runs of external CI systems, and the timeline of both. */
import type { Area } from '../kit/feature.ts';
import { ciFeature } from './ci/index.ts';
import { timelineFeature } from './timeline/index.ts';

export const connect: Area = {
  name: 'connect',
  features: [ciFeature, timelineFeature],
};
