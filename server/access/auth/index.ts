import type { Running, System } from '../../kit/feature.ts';
import { startLoop } from '../../base/loop.ts';
import { createAuthenticator } from './authenticate.ts';
import type { Authenticator } from './authenticate.ts';
import type { JobCredentials } from './job-credentials.ts';

/** How often it is written when credentials were last used. */
const FLUSH_EVERY_MS = 5_000;

export { ANONYMOUS } from './authenticate.ts';
export type { Authenticator } from './authenticate.ts';
export { concerns } from './credential-cache.ts';
export type { Proven } from './credential-cache.ts';
export { ID_TOKEN_BYTES_MAX } from './job-credentials.ts';
export type { JobCredentials } from './job-credentials.ts';

/** Not a feature that is called: it says who calls. */
export function startAuthenticator(system: System, ciJobs: JobCredentials): Authenticator & Running {
  const { config, publicUrls, onError } = system;
  const authenticator = createAuthenticator({
    ...system,
    sessions: config.sessions,
    ciJobs,
    isOwnOrigin: (origin) => publicUrls().some((url) => new URL(url).origin === origin),
  });
  const flushing = startLoop({ everyMs: FLUSH_EVERY_MS, run: authenticator.flush, onError });
  return {
    ...authenticator,
    stop: async () => {
      await flushing.stop();
      await authenticator.flush();
    },
  };
}
