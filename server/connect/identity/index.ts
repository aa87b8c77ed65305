/** Jobs of CI systems call with id_tokens in place of a stored key, each for one repository and one run. */
import { authFeature, jobCredentials } from '../../access/auth/index.ts';
import { declareFeature, fill } from '../../kit/feature.ts';
import { connectionsFeature } from '../connections/index.ts';
import { providersFeature } from '../providers/index.ts';
import { runsFeature } from '../runs/index.ts';
import { createCiJobs } from './caller.ts';
import { settings } from './identity.settings.ts';
import { createIdTokens, createVerifyIdToken } from './methods.ts';
import { purgeIdTokens } from './store.ts';

export { bindCiJob } from './bind.ts';
export { isCiJob } from './caller.ts';
export type { CiJobCaller } from './caller.ts';

export const identityFeature = declareFeature({
  name: 'identity',
  on: {
    auth: authFeature,
    connections: connectionsFeature,
    providers: providersFeature,
    runs: runsFeature,
  },
  settings,
  check: (_settings, { process, isSet, problem }) => {
    if (isSet('OIDC_ISSUERS') && !process.webhooksAllowPrivate)
      problem(
        'OIDC_ISSUERS is set, and the issuers are fixed: tests replace them, and set WEBHOOKS_ALLOW_PRIVATE=true with it',
      );
  },
  start: (system, _on, { oidcIssuers, oidcAudience }) => {
    const { config, db, clock, publicUrl } = system;
    const verify = createVerifyIdToken({
      ...system,
      issuers: oidcIssuers,
      allowPrivate: config.webhooksAllowPrivate,
      audience: () => oidcAudience ?? publicUrl().replace(/\/+$/, ''),
    });
    return {
      services: [createIdTokens(verify)],
      purges: [async () => await purgeIdTokens(db.sql, clock)],
      fills: [fill(jobCredentials, createCiJobs({ db, clock, verify }))],
    };
  },
});
