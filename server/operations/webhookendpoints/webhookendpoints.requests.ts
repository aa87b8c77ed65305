/** Valid requests of each RPC, for the tests of the contract. */
import { team } from '../../../test/contract/requests.ts';
import type { Requests } from '../../../test/contract/requests.ts';
import type { World } from '../../../test/contract/world.ts';

const endpoint = ({ teamId, endpointId }: World) => ({ teamId, endpointId });

export const requests: Requests = {
  'svc.webhookendpoints.v1.WebhookEndpointsService/Create': {
    fields: ({ teamId }) => ({ teamId, url: 'https://hooks.example.com/svc', events: ['run.finished'] }),
  },
  'svc.webhookendpoints.v1.WebhookEndpointsService/Delete': { fields: endpoint, last: true },
  'svc.webhookendpoints.v1.WebhookEndpointsService/Get': { fields: endpoint },
  'svc.webhookendpoints.v1.WebhookEndpointsService/List': { fields: team },
  'svc.webhookendpoints.v1.WebhookEndpointsService/ListDeliveries': { fields: endpoint },
  'svc.webhookendpoints.v1.WebhookEndpointsService/RotateSecret': { fields: endpoint },
  'svc.webhookendpoints.v1.WebhookEndpointsService/Test': { fields: endpoint },
  'svc.webhookendpoints.v1.WebhookEndpointsService/Update': {
    fields: (world) => ({ ...endpoint(world), description: 'seen by the matrix' }),
  },
};
