/** The tests of the contract send these requests, one for each RPC. */
import { environment, type Requests } from '../../../test/contract/requests.ts';

export const requests: Requests = {
  'svc.timeline.v1.TimelineService/Get': { gives: 'nothing', fields: environment },
  'svc.timeline.v1.TimelineService/Watch': { gives: 'nothing', fields: environment },
};
