/**
 * Notifications are what the platform says to people. They are read and marked here, and written by the
 * outbox.
 */
import { and, desc, eq, isNull, lt, sql, type SQL } from 'drizzle-orm';
import {
  NotificationSchema,
  NotificationsService,
} from '@svc/proto/gen/svc/notifications/v1/notifications_pb.ts';
import { implement, type Handlers } from '@svc/proto/http/implement.ts';
import type { Ctx } from '../../kit/context.ts';
import { eventsSeenBy } from '../../kit/events/index.ts';
import { declareFeature, fill } from '../../kit/feature.ts';
import { inboxSources } from '../../kit/inbox.ts';
import { newId } from '../../base/ids.ts';
import { notFound } from '../../kit/not-found.ts';
import { inTeams, rowsOf, shown } from '../../kit/resource/index.ts';
import { accountsFeature } from '../../access/accounts/index.ts';
import { teamsFeature } from '../../access/teams/index.ts';
import { unread } from './inbox.ts';
import { notified } from './notified.ts';
import { notifications } from './schema.ts';

export { notified } from './notified.ts';

const DEFAULT_LIMIT = 50;
const KEPT_MS = 90 * 24 * 60 * 60_000;

const rows = rowsOf(notifications);
const isUnread = isNull(notifications.readAt);

function createNotifications(): Handlers<Ctx> {
  return implement(NotificationsService, {
    list: async ({ limit = DEFAULT_LIMIT, offset = 0 }, ctx: Ctx) => {
      const newest = ctx.db.orm
        .select()
        .from(notifications)
        .where(ownOf(ctx))
        .orderBy(desc(notifications.createdAt), desc(notifications.id))
        .limit(limit)
        .offset(offset);
      const [found, unreadCount] = await Promise.all([newest, countUnread(ctx)]);
      return { notifications: found.map((row) => shown(NotificationSchema, row)), unreadCount };
    },
    unreadCount: async (_request, ctx: Ctx) => ({ unreadCount: await countUnread(ctx) }),
    markRead: async ({ notificationId }, ctx: Ctx) => {
      // The first time that it was read stays.
      const set = { readAt: sql`coalesce(${notifications.readAt}, now())` };
      const row = await rows.update(ctx, notificationId, { set, where: ownOf(ctx) });
      if (row === undefined) throw notFound(rows.kind);
      return shown(NotificationSchema, row);
    },
    markAllRead: async (_request, ctx: Ctx) => {
      const unread = and(ownOf(ctx), isUnread);
      const { count } = await ctx.db.orm
        .update(notifications)
        .set({ readAt: sql`now()` })
        .where(unread);
      return { marked: count };
    },
  });
}

export const notificationsFeature = declareFeature({
  name: 'notifications',
  on: { accounts: accountsFeature, teams: teamsFeature },
  start: ({ db }) => ({
    services: [createNotifications()],
    purges: [
      // Ids sort by time.
      async (nowMs) =>
        await db.orm.delete(notifications).where(lt(notifications.id, newId('ntf', nowMs - KEPT_MS))),
    ],
    fills: [fill(inboxSources, unread)],
    effects: [notified],
  }),
});

/** They are those of one account, about the teams and of the kinds that its credential reaches. */
function ownOf({ caller, teams }: Pick<Ctx, 'caller' | 'teams'>): SQL | undefined {
  return and(
    inTeams(notifications, teams),
    eq(notifications.userId, caller.userId),
    sql`${notifications.kind} = any(${sql.param([...eventsSeenBy(caller)])}::text[])`,
  );
}

async function countUnread(ctx: Ctx): Promise<number> {
  return await ctx.db.orm.$count(notifications, and(ownOf(ctx), isUnread));
}
