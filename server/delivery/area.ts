/** This area holds what was built, what it was built of, and what it takes to go further. */
import type { Area } from '../kit/feature.ts';
import { artifactsFeature } from './artifacts/index.ts';
import { attestationsFeature } from './attestations/index.ts';
import { auditFeature } from './audit/index.ts';
import { complianceFeature } from './compliance/index.ts';
import { impactFeature } from './impact/index.ts';
import { policiesFeature } from './policies/index.ts';
import { promotionsFeature } from './promotions/index.ts';
import { releasesFeature } from './releases/index.ts';
import { residencyFeature } from './residency/index.ts';
import { signingKeysFeature } from './signingkeys/index.ts';

export const delivery: Area = {
  name: 'delivery',
  features: [
    auditFeature,
    signingKeysFeature,
    attestationsFeature,
    artifactsFeature,
    policiesFeature,
    releasesFeature,
    promotionsFeature,
    impactFeature,
    residencyFeature,
    complianceFeature,
  ],
};
