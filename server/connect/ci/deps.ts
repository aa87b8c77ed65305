/** Parts of the system that the calls of Connect use. */
import type { Clock } from '../../base/clock.ts';
import type { Secrets } from '../../base/secrets.ts';
import type { VerifyIdToken } from './oidc/verify.ts';

export interface CiDeps {
  readonly clock: Clock;
  readonly secrets: Secrets;
  /** See Config.webhooksAllowPrivate. */
  readonly allowPrivate: boolean;
  /** The address at which providers reach this service. */
  readonly publicUrl: () => string;
  readonly verifyIdToken: VerifyIdToken;
}
