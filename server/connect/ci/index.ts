/** Connect: external CI in one timeline. */
import { implement } from '@svc/proto/http/implement.ts';
import type { Handlers } from '@svc/proto/http/implement.ts';
import { CiService } from '@svc/proto/gen/svc/ci/v1/ci_pb.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Ctx } from '../../platform/context.ts';
import type { Secrets } from '../../platform/secrets.ts';
import { connectionMethods } from './connections.ts';
import { discoveryMethods } from './discovery/index.ts';
import { tokenMethods } from './forges/token.ts';
import { oidcMethods } from './oidc/index.ts';
import type { VerifyIdToken } from './oidc/index.ts';
import { readMethods } from './reads.ts';
import { reportMethods } from './reports.ts';
import { webhookMethods } from './webhooks/index.ts';

export { bindCiJob, createCiJobs, createVerifyIdToken, isCiJob, purgeIdTokens } from './oidc/index.ts';
export type { CiJobCaller, VerifyIdToken } from './oidc/index.ts';
export { startCiHealth } from './health.ts';
export { startCiTasks } from './tasks/index.ts';
export {
  createAdminCiDeliveries,
  createWebhookEndpoint,
  createWebhooks,
  purgeCiDeliveries,
  startReading,
} from './webhooks/index.ts';

export interface CiDeps {
  readonly clock: Clock;
  readonly secrets: Secrets;
  /** See Config.webhooksAllowPrivate. */
  readonly allowPrivate: boolean;
  /** Where providers reach this service. */
  readonly publicUrl: () => string;
  readonly verifyIdToken: VerifyIdToken;
}

export function createCi(deps: CiDeps): Handlers<Ctx> {
  return implement(CiService, {
    ...connectionMethods(deps),
    ...tokenMethods(deps),
    ...readMethods(),
    ...reportMethods(deps),
    ...discoveryMethods(deps),
    ...webhookMethods(deps),
    ...oidcMethods(deps),
  });
}
