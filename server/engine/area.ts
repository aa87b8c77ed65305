/** Work and the runners that do it. */
import type { Area } from '../kit/feature.ts';
import { buildsFeature } from './builds/index.ts';
import { evidenceFeature } from './evidence/index.ts';
import { limitsFeature } from './limits/index.ts';
import { adminEventsFeature } from './adminevents/index.ts';
import { regionsFeature } from './regions/index.ts';
import { registriesFeature } from './registries/index.ts';
import { runnerGroupsFeature } from './runnergroups/index.ts';
import { runnersFeature } from './runners/index.ts';
import { sandboxRunsFeature } from './sandboxruns/index.ts';
import { teamSharesFeature } from './teamshares/index.ts';
import { workFeature } from './work/index.ts';

export const engine: Area = {
  name: 'engine',
  features: [
    regionsFeature,
    limitsFeature,
    evidenceFeature,
    workFeature,
    runnerGroupsFeature,
    teamSharesFeature,
    runnersFeature,
    registriesFeature,
    sandboxRunsFeature,
    buildsFeature,
    adminEventsFeature,
  ],
};
