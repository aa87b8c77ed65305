/**
 * Platform features that the installation switches, and the companion whose features are shown beside them.
 */
import { address, flag, optional } from '@svc/proto/process/settings.ts';
import { runnersEnabled } from '@svc/proto/process/shared-settings.ts';

export const settings = {
  jobRunnerEnabled: flag('JOB_RUNNER_ENABLED', {
    about: 'State of the feature `host.job_runner`, which nothing else switches.',
    fallback: false,
  }),
  runnersEnabled,
  companionUrl: optional('COMPANION_URL', {
    about: 'Companion service whose features staff see beside these.',
    type: 'http(s) address',
    absent: 'none',
    parse: address('http:', 'https:'),
  }),
};
