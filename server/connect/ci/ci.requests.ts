/** Valid requests of each RPC, for the tests of the contract. */
import { team, environment } from '../../../test/contract/requests.ts';
import type { Requests } from '../../../test/contract/requests.ts';
import type { World } from '../../../test/contract/world.ts';

const ciConnection = ({ ciConnectionId }: World) => ({ connectionId: ciConnectionId });
const ciRun = ({ ciRunId }: World) => ({ runId: ciRunId });

export const requests: Requests = {
  'svc.ci.v1.CiService/Complete': {
    guards: 'nothing',
    fields: (world) => ({ ...ciRun(world), status: 'success' }),
  },
  'svc.ci.v1.AdminCiDeliveriesService/List': { fields: () => ({}) },
  'svc.ci.v1.AdminCiDeliveriesService/Replay': { fields: () => ({ deliveryId: 'ciw_0' }), status: 404 },
  'svc.ci.v1.CiService/CreateConnection': {
    fields: (world) => ({
      ...team(world),
      provider: 'gitlab',
      repositoryHost: 'gitlab.com',
      repositoryPath: 'acme/made-by-matrix',
    }),
  },
  'svc.ci.v1.CiService/DeleteConnection': { fields: ciConnection },
  'svc.ci.v1.CiService/DeleteConnectionToken': { fields: ciConnection },
  'svc.ci.v1.CiService/Discover': { fields: ciConnection },
  'svc.ci.v1.CiService/ExchangeIdToken': {
    guards: 'nothing',
    fields: ({ ciConnectionId }) => ({ ciConnectionId, idToken: 'no.id.token' }),
    status: 401,
    as: 'nobody',
  },
  'svc.ci.v1.CiService/GetConnection': { fields: ciConnection },
  'svc.ci.v1.CiService/GetDiscovery': { fields: ciConnection },
  'svc.ci.v1.CiService/GetRun': { fields: ciRun },
  'svc.ci.v1.CiService/GetWebhook': { fields: ciConnection },
  'svc.ci.v1.CiService/ListConnections': { fields: team },
  'svc.ci.v1.CiService/ListDeliveries': { fields: ciConnection },
  'svc.ci.v1.CiService/ListPipelines': { fields: ciConnection },
  'svc.ci.v1.CiService/ListRunJobs': { fields: ciRun },
  'svc.ci.v1.CiService/ListRunsForConnection': { fields: ciConnection },
  'svc.ci.v1.CiService/ListRunsForPipeline': {
    fields: ({ ciPipelineId }) => ({ pipelineId: ciPipelineId }),
  },
  'svc.ci.v1.CiService/Report': {
    guards: 'nothing',
    fields: ({ ciConnectionId }) => ({ ciConnectionId, externalRunId: '2', status: 'running' }),
  },
  'svc.ci.v1.CiService/ReportJobs': {
    guards: 'nothing',
    fields: (world) => ({ ...ciRun(world), jobs: [{ name: 'test', status: 'running' }] }),
  },
  'svc.ci.v1.CiService/ResetOidcPin': { fields: ciConnection },
  'svc.ci.v1.CiService/RotateWebhookSecret': { fields: ciConnection },
  // A connection without a token.
  'svc.ci.v1.CiService/SetConnectionToken': {
    fields: (world) => ({
      ...ciConnection(world),
      token: 'a-token',
      forge: 'github',
      apiUrl: 'https://forge.example.com/api',
    }),
  },
  'svc.ci.v1.CiService/SubscribeWebhook': { fields: ciConnection, status: 409 },
  'svc.ci.v1.CiService/UpdateConnection': {
    fields: (world) => ({ ...ciConnection(world), defaultBranch: 'next' }),
  },
  'svc.ci.v1.CiService/UpdateRun': {
    guards: 'nothing',
    fields: (world) => ({ ...ciRun(world), durationMs: 1 }),
  },
  'svc.webhooks.v1.WebhooksService/Delete': {
    fields: (world) => ({ ...environment(world), hookId: 'cih_0' }),
    status: 404,
  },
  'svc.webhooks.v1.WebhooksService/Deliveries': { fields: environment },
  'svc.webhooks.v1.WebhooksService/List': { fields: environment },
};
