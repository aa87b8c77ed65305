/** Calls of staff about deliveries: list those of all teams, and have one read again. */
import type { Handlers } from '@svc/proto/http/implement.ts';
import { implement } from '@svc/proto/http/implement.ts';
import { AdminCiDeliveriesService } from '@svc/proto/gen/svc/ci/v1/ci_pb.ts';
import { recordAct } from '../../../kit/ledger/index.ts';
import type { Ctx } from '../../../kit/context.ts';
import { notFound } from '../../../kit/not-found.ts';
import { closePage, openPage } from '../../../kit/paging.ts';
import { deliveryStateWord } from '../words.ts';
import { listAllDeliveries, readAgain } from './deliveries-store.ts';
import { presentDelivery } from './present.ts';

export interface AdminCiDeliveriesDeps {
  /** Something waits to be read. */
  wakeReading(): void;
}

export function createAdminCiDeliveries({ wakeReading }: AdminCiDeliveriesDeps): Handlers<Ctx> {
  return implement(AdminCiDeliveriesService, {
    list: async ({ limit, cursor, ciConnectionId, state: number }, ctx) => {
      const state = number === undefined ? undefined : deliveryStateWord(number);
      const binding = `${ciConnectionId ?? ''} ${state ?? ''}`;
      const page = openPage(ctx, binding, { limit, cursor });
      const after = page.after === undefined ? undefined : String(page.after[0]);
      const query = { take: page.take, after, connectionId: ciConnectionId, state };
      const rows = await listAllDeliveries(ctx.db, query);
      const { items, nextCursor } = closePage(page, rows, (row) => [row.id]);
      return { deliveries: items.map(presentDelivery), ...(nextCursor === undefined ? {} : { nextCursor }) };
    },
    replay: async ({ deliveryId }, ctx) =>
      await ctx.db.transact(async (db) => {
        const delivery = await readAgain(db, deliveryId);
        if (delivery === undefined) throw notFound('delivery');
        const { teamId, connectionId } = delivery;
        await recordAct(db, ctx, {
          chain: teamId,
          action: 'ci_delivery.replayed',
          target: deliveryId,
          details: { ciConnectionId: connectionId },
        });
        db.afterCommit(wakeReading);
        return presentDelivery(delivery);
      }),
  });
}
