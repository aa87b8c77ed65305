/**
 * The impact of artifacts is what they are part of and where they run, with the signed passport of all that.
 * Its calls are those of artifacts.
 */
import { declareFeature, fill } from '../../kit/feature.ts';
import { artifactsFeature, useOfArtifacts } from '../artifacts/index.ts';
import { attestationsFeature } from '../attestations/index.ts';
import { promotionsFeature } from '../promotions/index.ts';
import { releasesFeature } from '../releases/index.ts';
import { signingKeysFeature } from '../signingkeys/index.ts';
import { impactOf } from './impact.ts';
import { lineageOf } from './lineage.ts';
import { passportJob, passportsDue } from './passport.ts';

export { passportsDue } from './passport.ts';

export const impactFeature = declareFeature({
  name: 'impact',
  on: {
    signingKeys: signingKeysFeature,
    attestations: attestationsFeature,
    artifacts: artifactsFeature,
    releases: releasesFeature,
    promotions: promotionsFeature,
  },
  start: ({ db, clock }, { signingKeys: { signer }, attestations: { root, typeBase } }) => ({
    effects: [passportsDue],
    jobs: [passportJob({ db, signer, clock, typeBase, root })],
    fills: [fill(useOfArtifacts, { impact: impactOf, lineage: lineageOf })],
  }),
});
