/** This file lists valid requests of each RPC, for the tests of the contract. */
import { nothing, type Requests } from '../../../test/contract/requests.ts';

export const requests: Requests = {
  'svc.plans.v1.PlansService/List': { gives: 'nothing', fields: nothing },
  'svc.plans.v1.PlansService/ListPrices': { gives: 'nothing', fields: nothing },
};
