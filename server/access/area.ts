/** The area knows people, their credentials and teams. */
import type { Area } from '../kit/feature.ts';
import { accountsFeature } from './accounts/index.ts';
import { agentsFeature } from './agents/index.ts';
import { apiKeysFeature } from './apikeys/index.ts';
import { authFeature } from './auth/index.ts';
import { teamsFeature } from './teams/index.ts';
import { verifiedDomainsFeature } from './verifieddomains/index.ts';

export const access: Area = {
  name: 'access',
  features: [
    accountsFeature,
    apiKeysFeature,
    teamsFeature,
    agentsFeature,
    authFeature,
    verifiedDomainsFeature,
  ],
};
