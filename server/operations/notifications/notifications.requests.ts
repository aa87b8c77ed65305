/** Gives a valid request of each RPC to the tests of the contract. */
import { nothing, type Requests } from '../../../test/contract/requests.ts';

/** It gives nothing to anybody, and changes nothing that is guarded. */
const NOTHING = { gives: 'nothing', guards: 'nothing' } as const;

export const requests: Requests = {
  'svc.notifications.v1.NotificationsService/List': { gives: 'nothing', fields: nothing },
  'svc.notifications.v1.NotificationsService/MarkAllRead': { ...NOTHING, fields: nothing },
  'svc.notifications.v1.NotificationsService/MarkRead': {
    ...NOTHING,
    fields: () => ({ notificationId: 'ntf_missing' }),
    status: 404,
  },
  'svc.notifications.v1.NotificationsService/UnreadCount': { gives: 'nothing', fields: nothing },
};
