/** What metered work costs. Amounts are whole trillionths of the currency until they are shown. */
import { CostsService, ReceiptLineSchema } from '@svc/proto/gen/svc/costs/v1/costs_pb.ts';
import { implement } from '@svc/proto/http/implement.ts';
import type { Handlers } from '@svc/proto/http/implement.ts';
import type { Ctx } from '../../platform/context.ts';
import type { Feature } from '../../platform/feature.ts';
import { notFound } from '../../platform/not-found.ts';
import { shown } from '../../platform/resource/index.ts';
import { eventsOf } from '../metering/index.ts';

const PLACES = 12;

/** Decimal text of so many trillionths. */
export function decimalOf(pico: bigint): string {
  const digits = pico.toString().padStart(PLACES + 1, '0');
  return `${digits.slice(0, -PLACES)}.${digits.slice(-PLACES)}`;
}

function createCosts(): Handlers<Ctx> {
  return implement(CostsService, {
    explain: async ({ teamId, itemId }, ctx: Ctx) => {
      const events = await eventsOf(ctx, { teamId, itemId });
      const [first] = events;
      if (first === undefined) throw notFound('metered run or build');
      const total = events.reduce((sum, { rated }) => sum + BigInt(rated), 0n);
      const lines = events.map((event) =>
        shown(ReceiptLineSchema, {
          ...event,
          meter: `${event.kind}.${event.executedBy}`,
          cost: decimalOf(BigInt(event.rated)),
        }),
      );
      return { itemId, currency: first.currency, cost: decimalOf(total), lines };
    },
  });
}

export const costsFeature: Feature = { services: [createCosts()] };
