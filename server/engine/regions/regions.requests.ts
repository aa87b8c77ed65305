/** Valid requests of each RPC, for the tests of the contract. */
import { nothing } from '../../../test/contract/requests.ts';
import type { Requests } from '../../../test/contract/requests.ts';

export const requests: Requests = {
  'svc.regions.v1.RegionsService/List': { gives: 'nothing', fields: nothing },
};
