/** The tests of the contract send these requests, one for each RPC. */
import { nothing, type Requests } from '../../../test/contract/requests.ts';

export const requests: Requests = {
  'svc.regions.v1.RegionsService/List': { gives: 'nothing', fields: nothing },
};
