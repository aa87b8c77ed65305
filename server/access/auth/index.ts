/** Tells who calls. */
import { declareFeature, filledOnce, port } from '../../kit/feature.ts';
import { accountsFeature } from '../accounts/index.ts';
import { agentsFeature } from '../agents/index.ts';
import { apiKeysFeature } from '../apikeys/index.ts';
import { teamsFeature } from '../teams/index.ts';
import { startLoop } from '../../base/loop.ts';
import { createAuthenticator } from './authenticate.ts';
import type { JobCredentials } from './credential-cache.ts';

/** The last use of credentials is written this often. */
const FLUSH_EVERY_MS = 5_000;

export { ANONYMOUS } from './authenticate.ts';
export type { Authenticator } from './authenticate.ts';
export { concerns, ID_TOKEN_BYTES_MAX } from './credential-cache.ts';
export type { Proven, JobCredentials } from './credential-cache.ts';

/** Jobs of CI systems show credentials that connect knows. */
export const jobCredentials = port<JobCredentials>('credentials of CI jobs');

/** Nobody calls it: it says who calls. */
export const authFeature = declareFeature({
  name: 'auth',
  on: {
    accounts: accountsFeature,
    apiKeys: apiKeysFeature,
    teams: teamsFeature,
    agents: agentsFeature,
  },
  contracts: [],
  start: (system, { accounts: { sessions } }) => {
    const { publicUrls, onError } = system;
    const authenticator = createAuthenticator({
      ...system,
      sessions,
      ciJobs: () => filledOnce(system, jobCredentials),
      isOwnOrigin: (origin) => publicUrls().some((url) => new URL(url).origin === origin),
    });
    const flushing = startLoop({ everyMs: FLUSH_EVERY_MS, run: authenticator.flush, onError });
    return {
      authenticator,
      stop: async () => {
        await flushing.stop();
        await authenticator.flush();
      },
    };
  },
});
