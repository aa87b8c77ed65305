/** Effects that wait or are dead, for staff. */
import { and, asc, eq } from 'drizzle-orm';
import {
  AdminEventsService,
  EventStateSchema,
  WaitingEventSchema,
} from '@svc/proto/gen/svc/adminevents/v1/adminevents_pb.ts';
import { implement, type Handlers } from '@svc/proto/http/implement.ts';
import type { Ctx } from '../../kit/context.ts';
import { PLATFORM_CHAIN, recordAct } from '../../kit/ledger/index.ts';
import { enumWord, shown } from '../../kit/resource/index.ts';
import { outboxParked, replayParked } from '../../kit/events/index.ts';
import { declareFeature } from '../../kit/feature.ts';

const LISTED_MAX = 200;

type State = typeof outboxParked.$inferSelect.state;

function createAdminEvents(): Handlers<Ctx> {
  return implement(AdminEventsService, {
    list: async ({ effect, state }, { db }: Ctx) => {
      const rows = await db.orm
        .select()
        .from(outboxParked)
        .where(
          and(
            effect === undefined ? undefined : eq(outboxParked.effect, effect),
            state === undefined
              ? undefined
              : eq(outboxParked.state, enumWord(EventStateSchema, state) as State),
          ),
        )
        .orderBy(asc(outboxParked.createdAt), asc(outboxParked.eventId), asc(outboxParked.effect))
        .limit(LISTED_MAX);
      return { events: rows.map((row) => shown(WaitingEventSchema, row)) };
    },
    replay: async ({ effect, eventId }, ctx: Ctx) =>
      await ctx.db.transact(async (db) => {
        const replayed = await replayParked(db.sql, { effect, eventId });
        const details = { effect: effect ?? '', replayed };
        if (replayed > 0)
          await recordAct(db, ctx, {
            chain: PLATFORM_CHAIN,
            action: 'events.replayed',
            target: eventId ?? 'all',
            details,
          });
        return { replayed };
      }),
  });
}

export const adminEventsFeature = declareFeature({
  name: 'adminevents',
  start: () => ({ services: [createAdminEvents()] }),
});
