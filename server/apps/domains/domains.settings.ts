/** The setting says which names domains may have that lead nowhere in public. */
import { flag } from '@svc/proto/process/settings.ts';

export const settings = {
  allowTestDomains: flag('ALLOW_TEST_DOMAINS', {
    about:
      'Environments may have domains below `test`, `example` and `example.com`, which lead nowhere in public.',
    fallback: false,
  }),
};
