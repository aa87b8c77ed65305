/** Connect: external CI in one timeline. */
import { authFeature, jobCredentials } from '../../access/auth/index.ts';
import { environmentGuards, environmentsFeature } from '../../apps/environments/index.ts';
import { projectsFeature } from '../../apps/projects/index.ts';
import { workFeature } from '../../engine/work/index.ts';
import { declareFeature, fill } from '../../kit/feature.ts';
import { switchesFeature } from '../../switches/index.ts';
import { settings } from './oidc/oidc.settings.ts';
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
import { connectionGuards } from './guards.ts';
import { discoverJob, discoveryMethods } from './discovery/index.ts';
import { tokenMethods } from './forges/token.ts';
import { oidcMethods } from './oidc/index.ts';
import { readMethods } from './reads.ts';
import { reportedRun, reportMethods } from './reports.ts';
import { webhookMethods } from './webhooks/index.ts';

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
export const ciFeature = declareFeature({
  name: 'ci',
  on: {
    switches: switchesFeature,
    auth: authFeature,
    environments: environmentsFeature,
    projects: projectsFeature,
    work: workFeature,
  },
  contracts: ['ci', 'webhooks'],
  settings,
  check: (_settings, { process, isSet, problem }) => {
    if (isSet('OIDC_ISSUERS') && !process.webhooksAllowPrivate)
      problem(
        'OIDC_ISSUERS is set, and the issuers are fixed: tests replace them, and set WEBHOOKS_ALLOW_PRIVATE=true with it',
      );
  },
  prefixes: ['cic', 'cid', 'cih', 'cij', 'cip', 'cir', 'ciw'],
  reads: ['ci_connections', 'ci_pipelines', 'ci_run_environments', 'ci_runs'],
  start: (system, { switches: { switches } }, { oidcIssuers, oidcAudience }) => {
    const { config, db, clock, publicUrl } = system;
    const allowPrivate = config.webhooksAllowPrivate;
    const verify = createVerifyIdToken({
      ...system,
      issuers: oidcIssuers,
      allowPrivate,
      audience: () => oidcAudience ?? publicUrl().replace(/\/+$/, ''),
    });
    let reading: Loop | undefined;
    /** Webhooks wait to be read. Those of another process look every second. */
    const wakeReading = (): void => reading?.wake();
    return {
      reportedRun,
      services: [
        createCi({ ...system, allowPrivate, verifyIdToken: verify }),
        createWebhooks(system),
        createAdminCiDeliveries({ wakeReading }),
      ],
      endpoints: () => createWebhookEndpoint({ ...system, gate: switches.gate, onStored: wakeReading }),
      loops: [() => (reading = startReading(system)), () => startCiHealth(system)],
      jobs: ciJobKinds({ ...system, allowPrivate }),
      purges: [
        async () => await purgeIdTokens(db.sql, clock),
        async (nowMs: number) => await purgeCiDeliveries(db.sql, nowMs),
      ],
      fills: [
        fill(jobCredentials, createCiJobs({ db, clock, verify })),
        fill(environmentGuards, connectionGuards),
      ],
    };
  },
});
