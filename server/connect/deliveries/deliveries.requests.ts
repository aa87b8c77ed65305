/** The tests of the contract send these requests, one for each RPC. */
import { environment, type Requests } from '../../../test/contract/requests.ts';
import { ciConnection, ofConnection } from '../connections/connections.requests.ts';

export const requests: Requests = {
  'svc.ci.v1.AdminCiDeliveriesService/List': { gives: 'nothing', fields: () => ({}) },
  'svc.ci.v1.AdminCiDeliveriesService/Replay': {
    gives: 'nothing',
    fields: () => ({ deliveryId: 'ciw_0' }),
    status: 404,
  },
  'svc.ci.v1.CiService/GetWebhook': { gives: 'nothing', fields: ciConnection },
  'svc.ci.v1.CiService/ListDeliveries': { gives: 'nothing', fields: ciConnection },
  'svc.ci.v1.CiService/RotateWebhookSecret': {
    gives: {
      what: 'the secret of a webhook',
      bound: ofConnection,
      story: 'server/connect/deliveries/listing.api.test.ts',
    },
    fields: ciConnection,
  },
  'svc.ci.v1.CiService/SubscribeWebhook': {
    gives: {
      what: 'the secret of a webhook, to the host of the repository',
      bound: ofConnection,
      story: 'server/connect/connections/webhook/subscribe.api.test.ts',
    },
    fields: ciConnection,
    status: 409,
  },
  'svc.webhooks.v1.WebhooksService/Delete': {
    gives: 'nothing',
    fields: (world) => ({ ...environment(world), hookId: 'cih_0' }),
    status: 404,
  },
  'svc.webhooks.v1.WebhooksService/Deliveries': { gives: 'nothing', fields: environment },
  'svc.webhooks.v1.WebhooksService/List': { gives: 'nothing', fields: environment },
};
