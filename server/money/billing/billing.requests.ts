/**
 * This file lists valid requests of each RPC, for the tests of the contract. Their server has no provider of
 * payments.
 */
import { team, type Requests } from '../../../test/contract/requests.ts';

const addresses = { successUrl: 'http://127.0.0.1:8080/paid', cancelUrl: 'http://127.0.0.1:8080/left' };

export const requests: Requests = {
  'svc.billing.v1.BillingService/Checkout': {
    guards: 'nothing',
    status: 503,
    gives: 'nothing',
    fields: () => ({ plan: 'team', ...addresses }),
  },
  'svc.billing.v1.BillingService/Portal': {
    guards: 'nothing',
    status: 503,
    gives: 'nothing',
    fields: () => ({}),
  },
  'svc.billing.v1.BillingService/ListStatements': { gives: 'nothing', fields: team },
  'svc.billing.v1.BillingService/BecomePayer': { statements: 16, gives: 'nothing', fields: team },
};
