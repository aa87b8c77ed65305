/** Every feature, in the order of start. A new one adds its line here. */
import { accountsFeature } from './access/accounts/index.ts';
import type { Dispatch } from '@svc/proto/dispatch/dispatch.ts';
import type { Passwords } from './access/accounts/index.ts';
import { apiKeysFeature } from './access/apikeys/index.ts';
import type { JobCredentials } from './access/auth/index.ts';
import { teamsFeature, teamsOfAccount } from './access/teams/index.ts';
import { verifiedDomainsFeature } from './access/verifieddomains/index.ts';
import { buildStepsFeature } from './apps/buildsteps/index.ts';
import { createGuards, environmentsFeature } from './apps/environments/index.ts';
import { projectsFeature } from './apps/projects/index.ts';
import { variablesFeature } from './apps/variables/index.ts';
import { connectionGuards, startCi } from './connect/ci/index.ts';
import { timelineFeature } from './connect/timeline/index.ts';
import { artifactsFeature } from './delivery/artifacts/index.ts';
import { attestationsFeature, trustRootOf } from './delivery/attestations/index.ts';
import { auditFeature } from './delivery/audit/index.ts';
import { complianceFeature } from './delivery/compliance/index.ts';
import { policiesFeature, policyGuards } from './delivery/policies/index.ts';
import { promotionsFeature } from './delivery/promotions/index.ts';
import { releasesFeature } from './delivery/releases/index.ts';
import { residencyFeature } from './delivery/residency/index.ts';
import { signingKeysFeature } from './delivery/signingkeys/index.ts';
import { buildsFeature } from './engine/builds/index.ts';
import { outboxFeature } from './engine/outbox/index.ts';
import { regionsFeature } from './engine/regions/index.ts';
import { registriesFeature } from './engine/registries/index.ts';
import { runnerGroupsFeature } from './engine/runnergroups/index.ts';
import { runnersFeature } from './engine/runners/index.ts';
import { sandboxRunsFeature } from './engine/sandboxruns/index.ts';
import { teamSharesFeature } from './engine/teamshares/index.ts';
import { createDispatch, createEngine, createTeamWork } from './engine/work/index.ts';
import { startFeatureSwitches } from './switches/index.ts';
import type { PlatformFeatures } from './switches/index.ts';
import { budgetGuards, budgetsFeature, spendDirtied } from './money/budgets/index.ts';
import { adminBillingFeature } from './money/adminbilling/index.ts';
import { billingFeature } from './money/billing/index.ts';
import type { Billing } from './money/billing/index.ts';
import { costsFeature } from './money/costs/index.ts';
import { boughtLeftLocked, creditsFeature } from './money/credits/index.ts';
import { startMetering } from './money/metering/index.ts';
import { statementsFeature } from './money/statements/index.ts';
import { plansFeature, pricingOf } from './money/plans/index.ts';
import { usageFeature } from './money/usage/index.ts';
import { incidentsFeature } from './operations/incidents/index.ts';
import { maintenanceFeature } from './operations/maintenance/index.ts';
import { notificationsFeature } from './operations/notifications/index.ts';
import { webhookEndpointsFeature } from './operations/webhookendpoints/index.ts';
import type { Feature, System } from './kit/feature.ts';
import { graphFeature } from './workspace/graph/index.ts';
import { createSpaceFilter, spacesFeature } from './workspace/spaces/index.ts';

export interface Features {
  readonly all: readonly Feature[];
  readonly switches: PlatformFeatures;
  readonly dispatch: Dispatch;
  readonly ciJobs: JobCredentials;
}

export async function startFeatures(system: System, passwords: Passwords): Promise<Features> {
  const switching = await startFeatureSwitches(system);
  const { switches } = switching;
  const { gate } = switches;
  const working = createEngine(system, gate);
  const { engine } = working;
  const runners = runnersFeature(system, engine);
  const registries = registriesFeature(system);
  const root = trustRootOf(system.config.sigstoreTrustedRoot);
  const policies = policiesFeature(system, root);
  const guards = createGuards([policyGuards, budgetGuards, connectionGuards]);
  const builds = buildsFeature(system, { engine, guards, gate: policies.buildGate, ...registries });
  const ci = startCi(system, gate);
  const signing = signingKeysFeature(system);
  const { gates } = policies;
  const { billing, money } = await startMoney(system);
  const work = createTeamWork({ ...system, ...engine });
  const listed: readonly Feature[] = [
    switching,
    working,
    accountsFeature(system, { passwords, teamsOfAccount, billing }),
    apiKeysFeature(system),
    teamsFeature(system, { passwords, work, credit: { boughtLeft: boughtLeftLocked }, billing }),
    verifiedDomainsFeature(system),
    regionsFeature(work),
    projectsFeature({ inSpace: createSpaceFilter(gate) }),
    environmentsFeature(system, guards, registries),
    variablesFeature(system, guards),
    buildStepsFeature(guards),
    runners,
    runnerGroupsFeature,
    teamSharesFeature,
    registries,
    sandboxRunsFeature(system, engine),
    builds,
    ci,
    timelineFeature({ gate }),
    notificationsFeature(system),
    webhookEndpointsFeature(system),
    ...money,
    spacesFeature,
    graphFeature({ gate }),
    incidentsFeature,
    residencyFeature(system, { ...signing, gate }),
    signing,
    attestationsFeature(system, root),
    artifactsFeature(system, { signer: signing.signer, root, reportedRun: ci.reportedRun }),
    policies,
    releasesFeature(system, { gates, signer: signing.signer }),
    promotionsFeature(system, { gates, deployImage: builds.deployImage }),
    complianceFeature(system, { signer: signing.signer, root }),
    maintenanceFeature({ gate }),
    auditFeature(system),
  ];
  const effects = listed.flatMap((feature) => feature.effects ?? []);
  const { enroll } = runners;
  const { buildOffer } = builds;
  return {
    all: [...listed, outboxFeature(system, effects)],
    switches,
    dispatch: createDispatch({ ...system, ...engine, features: switches, enroll, buildOffer }),
    ciJobs: ci.ciJobs,
  };
}

async function startMoney(
  system: System,
): Promise<{ readonly billing: Billing; readonly money: readonly Feature[] }> {
  const billing = billingFeature(system);
  const money = [
    await startMetering(system, spendDirtied(pricingOf(system))),
    plansFeature(system, billing.available),
    billing,
    costsFeature(system, billing),
    creditsFeature(system),
    statementsFeature(system),
    budgetsFeature(system),
    adminBillingFeature(system, billing),
    usageFeature,
  ];
  return { billing, money };
}
