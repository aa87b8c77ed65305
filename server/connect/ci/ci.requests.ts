/** Valid requests of each RPC, for the tests of the contract. */
import { team, environment } from '../../../test/contract/requests.ts';
import type { Requests } from '../../../test/contract/requests.ts';
import type { World } from '../../../test/contract/world.ts';

const ciConnection = ({ ciConnectionId }: World) => ({ connectionId: ciConnectionId });
const ciRun = ({ ciRunId }: World) => ({ runId: ciRunId });

const ofConnection =
  'reports runs of one repository and nothing else; the scope ci:manage includes it; it belongs to the connection and ends with it';

export const requests: Requests = {
  'svc.ci.v1.CiService/Complete': {
    gives: 'nothing',
    guards: 'nothing',
    fields: (world) => ({ ...ciRun(world), status: 'success' }),
  },
  'svc.ci.v1.AdminCiDeliveriesService/List': { gives: 'nothing', fields: () => ({}) },
  'svc.ci.v1.AdminCiDeliveriesService/Replay': {
    gives: 'nothing',
    fields: () => ({ deliveryId: 'ciw_0' }),
    status: 404,
  },
  'svc.ci.v1.CiService/CreateConnection': {
    gives: {
      what: 'a connection whose jobs may report',
      bound: ofConnection,
      story: 'server/connect/ci/oidc/attacks.api.test.ts',
    },
    fields: (world) => ({
      ...team(world),
      provider: 'gitlab',
      repositoryHost: 'gitlab.com',
      repositoryPath: 'acme/made-by-matrix',
    }),
  },
  'svc.ci.v1.CiService/DeleteConnection': { last: 5, gives: 'nothing', fields: ciConnection },
  'svc.ci.v1.CiService/DeleteConnectionToken': { gives: 'nothing', fields: ciConnection },
  'svc.ci.v1.CiService/Discover': { gives: 'nothing', fields: ciConnection },
  'svc.ci.v1.CiService/ExchangeIdToken': {
    gives: {
      what: 'a token of one CI run',
      bound:
        'what the id_token could do itself, for as long as it lives and an hour at most; ends with the connection',
      story: 'server/connect/ci/oidc/attacks.api.test.ts',
    },
    guards: 'nothing',
    fields: ({ ciConnectionId }) => ({ ciConnectionId, idToken: 'no.id.token' }),
    status: 401,
    as: 'nobody',
  },
  'svc.ci.v1.CiService/GetConnection': { gives: 'nothing', fields: ciConnection },
  'svc.ci.v1.CiService/GetDiscovery': { gives: 'nothing', fields: ciConnection },
  'svc.ci.v1.CiService/GetRun': { gives: 'nothing', fields: ciRun },
  'svc.ci.v1.CiService/GetWebhook': { gives: 'nothing', fields: ciConnection },
  'svc.ci.v1.CiService/ListConnections': { gives: 'nothing', fields: team },
  'svc.ci.v1.CiService/ListDeliveries': { gives: 'nothing', fields: ciConnection },
  'svc.ci.v1.CiService/ListPipelines': { gives: 'nothing', fields: ciConnection },
  'svc.ci.v1.CiService/ListRunJobs': { gives: 'nothing', fields: ciRun },
  'svc.ci.v1.CiService/ListRunsForConnection': { gives: 'nothing', fields: ciConnection },
  'svc.ci.v1.CiService/ListRunsForPipeline': {
    gives: 'nothing',
    fields: ({ ciPipelineId }) => ({ pipelineId: ciPipelineId }),
  },
  'svc.ci.v1.CiService/Report': {
    gives: 'nothing',
    guards: 'nothing',
    fields: ({ ciConnectionId }) => ({ ciConnectionId, externalRunId: '2', status: 'running' }),
  },
  'svc.ci.v1.CiService/ReportJobs': {
    gives: 'nothing',
    guards: 'nothing',
    fields: (world) => ({ ...ciRun(world), jobs: [{ name: 'test', status: 'running' }] }),
  },
  'svc.ci.v1.CiService/ResetOidcPin': {
    gives: {
      what: 'the next pin of the connection',
      bound: ofConnection,
      story: 'server/connect/ci/oidc/attacks.api.test.ts',
    },
    fields: ciConnection,
  },
  'svc.ci.v1.CiService/RotateWebhookSecret': {
    gives: {
      what: 'the secret of a webhook',
      bound: ofConnection,
      story: 'server/connect/ci/webhooks/ledger.api.test.ts',
    },
    fields: ciConnection,
  },
  // A connection without a token.
  'svc.ci.v1.CiService/SetConnectionToken': {
    gives: {
      what: 'nobody anything: the token is stored sealed and never shown',
      bound: ofConnection,
      story: 'server/connect/ci/forges/token.api.test.ts',
    },
    fields: (world) => ({
      ...ciConnection(world),
      token: 'a-token',
      forge: 'github',
      apiUrl: 'https://forge.example.com/api',
    }),
  },
  'svc.ci.v1.CiService/SubscribeWebhook': {
    gives: {
      what: 'the secret of a webhook, to the host of the repository',
      bound: ofConnection,
      story: 'server/connect/ci/webhooks/subscribe.api.test.ts',
    },
    fields: ciConnection,
    status: 409,
  },
  'svc.ci.v1.CiService/UpdateConnection': {
    gives: {
      what: 'other jobs the right to report',
      bound: ofConnection,
      story: 'server/connect/ci/oidc/attacks.api.test.ts',
    },
    fields: (world) => ({ ...ciConnection(world), defaultBranch: 'next' }),
  },
  'svc.ci.v1.CiService/UpdateRun': {
    gives: 'nothing',
    guards: 'nothing',
    fields: (world) => ({ ...ciRun(world), durationMs: 1 }),
  },
  'svc.webhooks.v1.WebhooksService/Delete': {
    gives: 'nothing',
    fields: (world) => ({ ...environment(world), hookId: 'cih_0' }),
    status: 404,
  },
  'svc.webhooks.v1.WebhooksService/Deliveries': { gives: 'nothing', fields: environment },
  'svc.webhooks.v1.WebhooksService/List': { gives: 'nothing', fields: environment },
};
