/**
 * Who reads and writes the tables of another feature, by table. A table's owner is the feature whose schema.ts describes it, or that stands here; every other
 * feature goes by the owner's functions, or is declared.
 */
export interface Sharing {
  readonly owner?: string;
  readonly writers?: readonly string[];
  readonly readers?: readonly string[];
}

export const SHARED: Readonly<Record<string, Sharing>> = {
  api_keys: {
    writers: ['access/auth'],
    readers: ['access/auth', 'features/platformfeatures', 'platform'],
  },
  artifact_sources: { readers: ['delivery/compliance', 'delivery/residency', 'workspace/graph'] },
  artifacts: { readers: ['delivery/compliance', 'delivery/promotions', 'workspace/graph'] },
  attestation_subjects: { readers: ['delivery/compliance'] },
  attestations: { readers: ['delivery/compliance'] },
  audit_entries: { readers: ['delivery/audit', 'delivery/compliance'] },
  audit_heads: { readers: ['delivery/audit'] },
  build_phases: { readers: ['engine/builds'] },
  builds: {
    writers: ['engine/work'],
    readers: [
      'apps/projects',
      'connect/timeline',
      'engine/registries',
      'engine/work',
      'money/metering',
      'operations/webhookendpoints',
    ],
  },
  ci_connections: { readers: ['connect/timeline'] },
  ci_pipelines: { readers: ['connect/timeline'] },
  ci_runs: { readers: ['connect/timeline'] },
  cost_days: { readers: ['money/costs'] },
  deployment_heads: { readers: ['delivery/artifacts', 'delivery/residency'] },
  deployments: { readers: ['delivery/artifacts', 'delivery/residency', 'delivery/compliance'] },
  environments: {
    readers: [
      'apps/projects',
      'connect/ci',
      'connect/timeline',
      'engine/evidence',
      'money/metering',
      'workspace/graph',
      'workspace/spaces',
    ],
  },
  idempotency_keys: { writers: ['engine/work'], readers: ['engine/work'] },
  nonce_store: { owner: 'engine/work' },
  nonces: { owner: 'engine/work' },
  open_period: { readers: ['money/costs'] },
  outbox: {
    writers: [
      'delivery/artifacts',
      'delivery/policies',
      'engine/builds',
      'engine/outbox',
      'engine/runners',
      'operations/webhookendpoints',
      'platform',
    ],
    readers: ['engine/outbox'],
  },
  policies: { readers: ['delivery/compliance'] },
  policy_decisions: { readers: ['delivery/compliance'] },
  policy_gates: { readers: ['delivery/compliance'] },
  policy_revisions: { readers: ['delivery/compliance'] },
  pool_turns: { writers: ['engine/teamshares'], readers: ['engine/runners'] },
  projects: { readers: ['engine/evidence', 'money/metering', 'workspace/graph', 'workspace/spaces'] },
  promotion_approvals: { readers: ['delivery/compliance'] },
  promotions: { readers: ['delivery/artifacts', 'delivery/compliance', 'workspace/graph'] },
  regions: {
    owner: 'engine/regions',
    readers: ['access/teams', 'engine/evidence', 'engine/registries', 'engine/runners', 'engine/work'],
  },
  release_artifacts: {
    readers: ['delivery/artifacts', 'delivery/compliance', 'delivery/promotions', 'workspace/graph'],
  },
  releases: {
    readers: ['delivery/artifacts', 'delivery/compliance', 'delivery/promotions', 'workspace/graph'],
  },
  runner_boots: { writers: ['engine/work'] },
  runner_events: { writers: ['engine/work'] },
  runner_groups: { writers: ['engine/work'], readers: ['engine/runners', 'engine/work'] },
  runner_routes: { readers: ['engine/work'] },
  runners: {
    writers: ['engine/runnergroups', 'engine/work'],
    readers: [
      'connect/timeline',
      'engine/builds',
      'engine/evidence',
      'engine/runnergroups',
      'engine/sandboxruns',
      'engine/work',
      'money/metering',
    ],
  },
  sboms: { writers: ['engine/evidence'], readers: [] },
  sessions: { writers: ['access/auth'], readers: ['access/auth'] },
  settings: { writers: ['server'], readers: ['server'] },
  statements: { readers: ['money/costs'] },
  team_members: {
    readers: [
      'access/accounts',
      'access/auth',
      'delivery/compliance',
      'delivery/promotions',
      'engine/runners',
      'operations/notifications',
      'workspace/spaces',
    ],
  },
  team_shares: { readers: ['engine/runners', 'engine/work'] },
  teams: {
    owner: 'access/teams',
    readers: [
      'access/accounts',
      'connect/ci',
      'delivery/policies',
      'delivery/promotions',
      'engine/builds',
      'engine/evidence',
      'engine/regions',
      'engine/registries',
      'engine/runners',
      'engine/work',
      'money/credits',
      'money/metering',
      'operations/notifications',
      'workspace/graph',
    ],
  },
  users: {
    readers: [
      'access/apikeys',
      'access/auth',
      'access/teams',
      'delivery/compliance',
      'features/platformfeatures',
      'platform',
      'workspace/spaces',
    ],
  },
  work_items: {
    writers: ['engine/builds'],
    readers: [
      'connect/timeline',
      'delivery/artifacts',
      'engine/builds',
      'engine/evidence',
      'engine/runners',
      'engine/sandboxruns',
      'money/metering',
      'operations/webhookendpoints',
      'workspace/graph',
    ],
  },
  work_leases: { readers: ['engine/builds', 'engine/registries', 'engine/runners'] },
  work_reports: { readers: ['engine/runners'] },
  work_routes: { readers: ['engine/runners'] },
};
