/**
 * Why builds and runs fail: the reason is found in the output of what ended, in the background, and failures
 * with one reason are one entry. What helped is known once the environment is green again. Teams that share
 * see how many others had the same.
 */
import { failureSignaturesPort, teamsFeature } from '../../access/teams/index.ts';
import { environmentsFeature } from '../../apps/environments/index.ts';
import { buildsFeature } from '../../engine/builds/index.ts';
import { workFeature } from '../../engine/work/index.ts';
import { declareFeature, fill } from '../../kit/feature.ts';
import { ended, endedJob } from './ended.ts';
import { purgeFailures } from './purge.ts';
import { createReasons } from './reasons.ts';
import { listSignatures } from './list.ts';
import { startSharing } from './shared.ts';

export const failuresFeature = declareFeature({
  name: 'failures',
  on: { teams: teamsFeature, environments: environmentsFeature, work: workFeature, builds: buildsFeature },
  contracts: [],
  start: (system) => {
    const reasons = createReasons();
    return {
      effects: [ended],
      jobs: [endedJob({ ...system, reasons })],
      loops: [() => startSharing(system)],
      purges: [async (nowMs) => await purgeFailures(system.db.sql, new Date(nowMs))],
      fills: [fill(failureSignaturesPort, listSignatures(system))],
      stop: async () => await reasons.stop(),
    };
  },
});
