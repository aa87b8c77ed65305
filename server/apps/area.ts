/** Projects, their environments, and what those are built with. */
import type { Area } from '../kit/feature.ts';
import { buildStepsFeature } from './buildsteps/index.ts';
import { environmentsFeature } from './environments/index.ts';
import { projectsFeature } from './projects/index.ts';
import { variablesFeature } from './variables/index.ts';

export const apps: Area = {
  name: 'apps',
  features: [projectsFeature, environmentsFeature, variablesFeature, buildStepsFeature],
};
