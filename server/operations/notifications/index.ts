/** What the platform tells people: read and marked here, written by the outbox. */
import type { Feature, System } from '../../platform/feature.ts';
import { notified, purgeNotifications } from './store.ts';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { NotificationsService } from '@svc/proto/gen/svc/notifications/v1/notifications_pb.ts';
import { implement } from '@svc/proto/http/implement.ts';
import type { Handlers } from '@svc/proto/http/implement.ts';
import type { Ctx } from '../../platform/context.ts';
import { eventsSeenBy } from '../../platform/events.ts';
import { notFound } from '../../platform/not-found.ts';
import { countUnread, listNotifications, markAllRead, markRead } from './store.ts';
import type { NotificationRow, Reader } from './store.ts';

export { notified } from './store.ts';

const DEFAULT_LIMIT = 50;

const readerOf = ({ caller, teams }: Ctx): Reader => ({
  userId: caller.userId,
  teams,
  kinds: eventsSeenBy(caller),
});

export function createNotifications(): Handlers<Ctx> {
  return implement(NotificationsService, {
    list: async ({ limit, offset }, ctx: Ctx) => {
      const { sql } = ctx.db;
      const [rows, unreadCount] = await Promise.all([
        listNotifications(sql, readerOf(ctx), { limit: limit ?? DEFAULT_LIMIT, offset: offset ?? 0 }),
        countUnread(sql, readerOf(ctx)),
      ]);
      return { notifications: rows.map(present), unreadCount };
    },
    unreadCount: async (_request, ctx: Ctx) => ({
      unreadCount: await countUnread(ctx.db.sql, readerOf(ctx)),
    }),
    markRead: async ({ notificationId }, ctx: Ctx) => {
      const row = await markRead(ctx.db.sql, readerOf(ctx), notificationId);
      if (row === undefined) throw notFound('notification');
      return present(row);
    },
    markAllRead: async (_request, ctx: Ctx) => ({ marked: await markAllRead(ctx.db.sql, readerOf(ctx)) }),
  });
}

function present({ createdAt, readAt, ...rest }: NotificationRow) {
  return {
    ...rest,
    createdAt: timestampFromDate(createdAt),
    ...(readAt === null ? {} : { readAt: timestampFromDate(readAt) }),
  };
}

export function notificationsFeature({ db }: System): Feature {
  return {
    services: [createNotifications()],
    purges: [async (nowMs) => await purgeNotifications(db.sql, nowMs)],
    effects: [notified],
  };
}
