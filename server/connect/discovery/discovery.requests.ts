/** The tests of the contract send these requests, one for each RPC. */
import type { Requests } from '../../../test/contract/requests.ts';
import { ciConnection } from '../connections/connections.requests.ts';

export const requests: Requests = {
  'svc.ci.v1.CiService/Discover': { gives: 'nothing', fields: ciConnection },
  'svc.ci.v1.CiService/GetDiscovery': { gives: 'nothing', fields: ciConnection },
};
