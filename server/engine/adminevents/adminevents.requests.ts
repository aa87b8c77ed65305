/** Valid requests of each RPC, for the tests of the contract. */
import { nothing } from '../../../test/contract/requests.ts';
import type { Requests } from '../../../test/contract/requests.ts';

export const requests: Requests = {
  'svc.adminevents.v1.AdminEventsService/List': { gives: 'nothing', fields: nothing },
  'svc.adminevents.v1.AdminEventsService/Replay': {
    gives: 'nothing',
    fields: () => ({ eventId: 'evt_0' }),
  },
};
