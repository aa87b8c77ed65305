/** This file makes the receipt of a run or a build. */
import { ReceiptLineSchema, type ExplainRequest } from '@svc/proto/gen/svc/costs/v1/costs_pb.ts';
import type { Ctx } from '../../kit/context.ts';
import { notFound } from '../../kit/not-found.ts';
import { shown } from '../../kit/resource/index.ts';
import { decimalOf } from '../amounts/index.ts';
import { eventsOf } from '../metering/index.ts';

export async function explain({ teamId, itemId }: ExplainRequest, ctx: Ctx) {
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
}
