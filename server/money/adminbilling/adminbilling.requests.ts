/** Valid requests of each RPC, for the tests of the contract. */
import { nothing, team } from '../../../test/contract/requests.ts';
import type { Requests } from '../../../test/contract/requests.ts';

export const requests: Requests = {
  'svc.adminbilling.v1.AdminBillingService/ListPrices': { givesNothing: true, fields: nothing },
  'svc.adminbilling.v1.AdminBillingService/PublishPrice': {
    givesNothing: true,
    fields: () => ({
      meter: 'build.service',
      nanosPerSecond: 200_000,
      fromAt: new Date(Date.now() + 86_400_000).toISOString(),
    }),
  },
  'svc.adminbilling.v1.AdminBillingService/GrantCredit': {
    givesNothing: true,
    fields: (world) => ({ ...team(world), amountCents: 500, reason: 'an hour of ours was bad' }),
  },
  'svc.adminbilling.v1.AdminBillingService/Close': { givesNothing: true, fields: () => ({ dryRun: true }) },
  'svc.adminbilling.v1.AdminBillingService/Reconcile': {
    givesNothing: true,
    fields: nothing,
    status: 503,
  },
};
