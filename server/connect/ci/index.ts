/** Connect: external CI in one timeline. */
import type { JobCredentials } from '../../access/auth/index.ts';
import type { Feature, System } from '../../kit/feature.ts';
import type { FeatureGate } from '../../kit/feature-gate.ts';
import type { JobKind } from '../../kit/jobs/index.ts';
import type { Loop } from '../../base/loop.ts';
import { pollJob } from './health-poll.ts';
import { startCiHealth } from './health.ts';
import { createCiJobs, createVerifyIdToken, purgeIdTokens } from './oidc/index.ts';
import {
  createAdminCiDeliveries,
  createWebhookEndpoint,
  createWebhooks,
  purgeCiDeliveries,
  startReading,
} from './webhooks/index.ts';
import { subscribeJob, unsubscribeJob } from './webhooks/subscribe.ts';
import type { SubscriptionDeps } from './webhooks/subscribe.ts';
import { implement } from '@svc/proto/http/implement.ts';
import type { Handlers } from '@svc/proto/http/implement.ts';
import { CiService } from '@svc/proto/gen/svc/ci/v1/ci_pb.ts';
import type { Ctx } from '../../kit/context.ts';
import { connectionMethods } from './connections.ts';
import type { CiDeps } from './deps.ts';
import { commitStatusJob } from './commit-status/handler.ts';
import { discoverJob, discoveryMethods } from './discovery/index.ts';
import { tokenMethods } from './forges/token.ts';
import { oidcMethods } from './oidc/index.ts';
import { readMethods } from './reads.ts';
import { reportedRun, reportMethods } from './reports.ts';
import { webhookMethods } from './webhooks/index.ts';

export { connectionGuards } from './guards.ts';
export { bindCiJob, isCiJob } from './oidc/index.ts';
export type { CiJobCaller } from './oidc/index.ts';

export function createCi(deps: CiDeps): Handlers<Ctx> {
  return implement(CiService, {
    ...connectionMethods(deps),
    ...tokenMethods(deps),
    ...readMethods(),
    ...reportMethods(),
    ...discoveryMethods(deps),
    ...webhookMethods(deps),
    ...oidcMethods(deps),
  });
}

/** Requests to repositories' hosts that are made in the background. */
export function ciJobKinds(deps: SubscriptionDeps): readonly JobKind[] {
  return [discoverJob(deps), subscribeJob(deps), unsubscribeJob(deps), commitStatusJob(deps), pollJob(deps)];
}

/** Connect, and the credentials of CI jobs for authentication. */
export function startCi(
  system: System,
  gate: FeatureGate,
): Feature & {
  readonly ciJobs: JobCredentials;
  readonly reportedRun: typeof reportedRun;
} {
  const { config, db, clock, publicUrl } = system;
  const allowPrivate = config.webhooksAllowPrivate;
  const verify = createVerifyIdToken({
    ...system,
    issuers: config.oidcIssuers,
    allowPrivate,
    audience: () => config.oidcAudience ?? publicUrl().replace(/\/+$/, ''),
  });
  let reading: Loop | undefined;
  /** Webhooks wait to be read. Those of another process look every second. */
  const wakeReading = (): void => reading?.wake();
  return {
    ciJobs: createCiJobs({ db, clock, verify }),
    reportedRun,
    services: [
      createCi({ ...system, allowPrivate, verifyIdToken: verify }),
      createWebhooks(system),
      createAdminCiDeliveries({ wakeReading }),
    ],
    endpoints: () => createWebhookEndpoint({ ...system, gate, onStored: wakeReading }),
    loops: [() => (reading = startReading(system)), () => startCiHealth(system)],
    jobs: ciJobKinds({ ...system, allowPrivate }),
    purges: [
      async () => await purgeIdTokens(db.sql, clock),
      async (nowMs) => await purgeCiDeliveries(db.sql, nowMs),
    ],
  };
}
