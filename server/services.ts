/** Every public service with what it needs. A new feature adds its line here. */
import type { Handlers } from '@svc/proto/http/implement.ts';
import type { WorkQueue } from '@svc/proto/queue/queue.ts';
import {
  createAccountService,
  createAdminAccounts,
  createAuthService,
  createTries,
} from './access/accounts/index.ts';
import type { Passwords } from './access/accounts/index.ts';
import { createApiKeysService } from './access/apikeys/index.ts';
import { createAudit } from './delivery/audit/index.ts';
import type { CheckpointFile, Signer } from './delivery/audit/index.ts';
import { createBuilds } from './engine/builds/index.ts';
import { createBuildSteps } from './apps/buildsteps/index.ts';
import { createAdminCiDeliveries, createCi, createWebhooks } from './connect/ci/index.ts';
import type { VerifyIdToken } from './connect/ci/index.ts';
import type { Config } from './config.ts';
import { createEnvironments } from './apps/environments/index.ts';
import { createGraph } from './workspace/graph/index.ts';
import { createIncidents } from './operations/incidents/index.ts';
import { createMaintenance } from './operations/maintenance/index.ts';
import { createNotifications } from './operations/notifications/index.ts';
import type { PlatformFeatures } from './features/platformfeatures/index.ts';
import type { Clock } from './platform/clock.ts';
import type { Ctx } from './platform/context.ts';
import type { CredentialChanges } from './platform/credential-changes.ts';
import type { Secrets } from './platform/secrets.ts';
import { createProjects } from './apps/projects/index.ts';
import { createAdminTeams, createRegions } from './engine/regions/index.ts';
import { createRegistries } from './engine/registries/index.ts';
import { createResidency } from './delivery/residency/index.ts';
import { createRunners } from './engine/runners/index.ts';
import { createSandboxRuns } from './engine/sandboxruns/index.ts';
import { createSpaceFilter, createSpaces } from './workspace/spaces/index.ts';
import { createTimeline } from './connect/timeline/index.ts';
import { createTeamWork } from './engine/work/team-work.ts';
import { createTeams, teamsOfAccount } from './access/teams/index.ts';
import { createUsage } from './money/usage/index.ts';
import { createVariables } from './apps/variables/index.ts';
import { createWebhookEndpoints } from './operations/webhookendpoints/index.ts';
import type { Hints, Wake, WorkSettings } from './engine/work/index.ts';

export interface ServicesDeps {
  readonly config: Config;
  readonly clock: Clock;
  readonly secrets: Secrets;
  readonly passwords: Passwords;
  readonly changes: CredentialChanges;
  readonly queue: WorkQueue;
  readonly hints: Hints;
  readonly settings: WorkSettings;
  readonly wake: Wake;
  readonly features: PlatformFeatures;
  /** Signed ends of the ledger's chains. */
  readonly checkpoints: CheckpointFile;
  readonly checkpointSigner: Signer;
  /** Names of variables that matter to runners, for diagnoses. */
  readonly configured: Readonly<Record<string, boolean>>;
  /** Where people reach the console. */
  readonly publicUrl: () => string;
  readonly verifyIdToken: VerifyIdToken;
  wakeRelay(): void;
  /** Webhooks of CI systems wait to be read. */
  wakeReading(): void;
  onError(error: unknown): void;
}

export function createServices(deps: ServicesDeps): ReadonlyArray<Handlers<Ctx>> {
  const { config, secrets, clock } = deps;
  const { limits, sessions } = config;
  const accounts = { ...deps, tries: createTries(clock), sessions, limits, teamsOfAccount };
  const work = createTeamWork(deps);
  return [
    createAuthService(accounts),
    createAccountService(accounts),
    createAdminAccounts(),
    createApiKeysService({ ...deps, limits }),
    createTeams({ ...deps, limits, work }),
    createAdminTeams({ work }),
    createRegions(),
    createProjects({ inSpace: createSpaceFilter(deps.features.gate) }),
    createEnvironments({ limits, secrets }),
    createVariables({ clock, secrets }),
    createBuildSteps({ clock }),
    createRunners({ ...deps, runnersPerTeamMax: limits.runnersPerTeamMax }),
    createRegistries({ ...config, clock, secrets }),
    createSandboxRuns({ ...deps }),
    createBuilds({ ...deps, traceViewerUrl: config.traceViewerUrl }),
    createCi({ ...deps, allowPrivate: config.webhooksAllowPrivate }),
    createWebhooks(deps),
    createAdminCiDeliveries({ wakeReading: deps.wakeReading }),
    createTimeline(deps.features),
    createNotifications(),
    createWebhookEndpoints({ secrets, allowPrivate: config.webhooksAllowPrivate }),
    createUsage({ clock }),
    createSpaces(),
    createGraph(),
    createIncidents(),
    createResidency(),
    createMaintenance({ clock }),
    deps.features.handlers,
    ...createAudit({ signer: deps.checkpointSigner, file: deps.checkpoints }),
  ];
}
