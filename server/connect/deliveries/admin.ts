/** Calls of staff about deliveries: list those of all teams, and have one read again. */
import type { Handlers } from '@svc/proto/http/implement.ts';
import { implement } from '@svc/proto/http/implement.ts';
import { AdminCiDeliveriesService, CiDeliveryStateSchema } from '@svc/proto/gen/svc/ci/v1/ci_pb.ts';
import type { Ctx } from '../../kit/context.ts';
import { notFound } from '../../kit/not-found.ts';
import { closePage, openPage } from '../../kit/paging.ts';
import { change, enumWord } from '../../kit/resource/index.ts';
import { shownDelivery } from './shown.ts';
import { listAllDeliveries, readAgain } from './store.ts';
import type { Delivery } from './store.ts';

export interface AdminCiDeliveriesDeps {
  /** Something waits to be read. */
  wakeReading(): void;
}

export function createAdminCiDeliveries({ wakeReading }: AdminCiDeliveriesDeps): Handlers<Ctx> {
  return implement(AdminCiDeliveriesService, {
    list: async ({ limit, cursor, ciConnectionId, state: number }, ctx) => {
      const state = number === undefined ? undefined : enumWord(CiDeliveryStateSchema, number);
      const binding = `${ciConnectionId ?? ''} ${state ?? ''}`;
      const page = openPage(ctx, binding, { limit, cursor });
      const after = page.after === undefined ? undefined : String(page.after[0]);
      const query = {
        take: page.take,
        after,
        connectionId: ciConnectionId,
        state: state as Delivery['state'],
      };
      const { items, ...next } = closePage(page, await listAllDeliveries(ctx.db, query), ({ id }) => [id]);
      return { deliveries: items.map(shownDelivery), ...next };
    },
    replay: async ({ deliveryId }, ctx) => {
      const details = ({ connectionId }: Delivery) => ({ ciConnectionId: connectionId });
      const delivery = await change(ctx, { action: 'ci_delivery.replayed', details }, async ({ db }) => {
        const found = await readAgain(db, deliveryId);
        if (found === undefined) throw notFound('delivery');
        db.afterCommit(wakeReading);
        return found;
      });
      return shownDelivery(delivery);
    },
  });
}
