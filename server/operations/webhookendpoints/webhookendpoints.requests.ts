/** Gives a valid request of each RPC to the tests of the contract. */
import { ATTEMPT, team, type Requests } from '../../../test/contract/requests.ts';
import type { World } from '../../../test/contract/world.ts';

const endpoint = ({ teamId, endpointId }: World) => ({ teamId, endpointId });

export const requests: Requests = {
  'svc.webhookendpoints.v1.WebhookEndpointsService/Create': {
    gives: {
      what: 'a receiver that is told of events',
      bound:
        'a key names only events that it could read itself; the endpoint is the team’s and ends when it is deleted',
      attempts: ({ teamId }) =>
        ['run.finished', 'build.finished', 'runner.degraded', 'runner.revoked'].map((event) => ({
          teamId,
          url: `https://${ATTEMPT}.example.com/`,
          events: [event],
        })),
    },
    fields: ({ teamId }) => ({ teamId, url: 'https://hooks.example.com/svc', events: ['run.finished'] }),
  },
  'svc.webhookendpoints.v1.WebhookEndpointsService/Delete': { gives: 'nothing', fields: endpoint, last: 1 },
  'svc.webhookendpoints.v1.WebhookEndpointsService/Get': { gives: 'nothing', fields: endpoint },
  'svc.webhookendpoints.v1.WebhookEndpointsService/List': { gives: 'nothing', fields: team },
  'svc.webhookendpoints.v1.WebhookEndpointsService/ListDeliveries': { gives: 'nothing', fields: endpoint },
  'svc.webhookendpoints.v1.WebhookEndpointsService/RotateSecret': {
    gives: {
      what: 'the secret that deliveries are signed with',
      bound: 'signs deliveries of one endpoint; the scope team:manage includes it; ends with the endpoint',
      story: 'server/kit/events/outbox.api.test.ts',
    },
    fields: endpoint,
  },
  'svc.webhookendpoints.v1.WebhookEndpointsService/Test': { gives: 'nothing', fields: endpoint },
  'svc.webhookendpoints.v1.WebhookEndpointsService/Update': {
    gives: {
      what: 'a receiver that is told of events',
      bound:
        'as Create, for the events that it had, has, and has waiting: they all go to the address of the moment',
      attempts: ({ teamId, endpointId }) => [
        { teamId, endpointId, url: `https://${ATTEMPT}.example.com/` },
        { teamId, endpointId, events: ['build.finished'] },
      ],
    },
    fields: (world) => ({ ...endpoint(world), description: 'seen by the matrix' }),
  },
};
