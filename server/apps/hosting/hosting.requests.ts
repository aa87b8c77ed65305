/** The tests of the contract send these requests, one for each RPC. */
import type { Requests } from '../../../test/contract/requests.ts';

export const requests: Requests = {
  'svc.hosting.v1.HostingService/Get': {
    gives: 'nothing',
    fields: ({ hostedId: environmentId }) => ({ environmentId }),
  },
};
