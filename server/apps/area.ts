/** Projects, their environments, and what those are built of and with. */
import type { Area } from '../kit/feature.ts';
import { buildStepsFeature } from './buildsteps/index.ts';
import { databasesFeature } from './databases/index.ts';
import { domainsFeature } from './domains/index.ts';
import { edgeLogsFeature } from './edgelogs/index.ts';
import { environmentsFeature } from './environments/index.ts';
import { hostingFeature } from './hosting/index.ts';
import { projectsFeature } from './projects/index.ts';
import { repositoriesFeature } from './repositories/index.ts';
import { storageFeature } from './storage/index.ts';
import { templatesFeature } from './templates/index.ts';
import { variablesFeature } from './variables/index.ts';

export const apps: Area = {
  name: 'apps',
  features: [
    projectsFeature,
    environmentsFeature,
    variablesFeature,
    buildStepsFeature,
    hostingFeature,
    storageFeature,
    databasesFeature,
    repositoriesFeature,
    domainsFeature,
    edgeLogsFeature,
    templatesFeature,
  ],
};
