/** The tests of the contract send these requests, one for each RPC. */
import { nothing, type Requests } from '../../../test/contract/requests.ts';

export const requests: Requests = {
  'svc.adminevents.v1.AdminEventsService/List': { gives: 'nothing', fields: nothing },
  'svc.adminevents.v1.AdminEventsService/Replay': { gives: 'nothing', fields: () => ({ eventId: 'evt_0' }) },
};
