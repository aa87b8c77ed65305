/** This file lists valid requests of each RPC, for the tests of the contract. */
import { team, type Requests } from '../../../test/contract/requests.ts';

export const requests: Requests = {
  'svc.usage.v1.UsageService/Get': { gives: 'nothing', fields: team },
};
