/**
 * Files whose statements by hand take no TeamScope, by the reason. Everything else that reads or writes rows of teams by hand takes one, or goes by
 * `server/platform/resource`, which demands it. Prefixes end with a slash.
 */
export const SYSTEMS_OWN: Readonly<Record<string, readonly string[]>> = {
  'rows of an account, a credential or the installation, which belong to no team': [
    'server/access/accounts/',
    'server/access/apikeys/',
    'server/access/auth/',
    'server/delivery/signingkeys/',
    'server/door/pages.ts',
    'server/engine/regions/',
    'server/engine/teamshares/',
    'server/features/platformfeatures/',
    'server/platform/',
  ],
  'a chain of the ledger, whose right is checked by its name': ['server/delivery/audit/'],
  'memberships and invitations, which a TeamScope is made of': ['server/access/teams/'],
  'members of a space, whose membership is the right to it': ['server/workspace/spaces/store.ts'],
  'asks whether any team has a domain or a slug, and shows no row': [
    'server/access/verifieddomains/owner.ts',
    'server/apps/projects/slug.ts',
  ],
  'called by gateways, workers and the outbox, which act for no caller': [
    'server/apps/environments/git-credentials.ts',
    'server/connect/ci/commit-status/',
    'server/connect/ci/discovery/',
    'server/connect/ci/health.ts',
    'server/connect/ci/oidc/',
    'server/connect/ci/webhooks/',
    'server/delivery/artifacts/catalogue.ts',
    'server/engine/builds/offer.ts',
    'server/engine/outbox/',
    'server/engine/registries/local-access.ts',
    'server/engine/registries/targets.ts',
    'server/engine/runners/degraded.ts',
    'server/engine/runners/enroll.ts',
    'server/engine/work/',
    'server/money/usage/',
    'server/operations/notifications/notified.ts',
    'server/operations/webhookendpoints/deliver.ts',
    'server/operations/webhookendpoints/store.ts',
  ],
  'records runs of a connection, which a webhook has, or was found within the teams of the call': [
    'server/connect/ci/connections-system.ts',
    'server/connect/ci/environment.ts',
    'server/connect/ci/record-jobs.ts',
    'server/connect/ci/record-runs.ts',
    'server/connect/ci/run-joins.ts',
    'server/connect/ci/run-names.ts',
  ],
  'fragments of statements that take a TeamScope': [
    'server/engine/builds/row.ts',
    'server/engine/runners/pool-facts.ts',
    'server/engine/runners/row.ts',
  ],
  'given the row, or the team, that the call was authorised for': [
    'server/delivery/artifacts/record.ts',
    'server/delivery/artifacts/sbom/store.ts',
    'server/engine/builds/store.ts',
    'server/engine/runners/waiting.ts',
  ],
};
