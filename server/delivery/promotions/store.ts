/** Finds the rows of promotions. */
import { and, eq, sql } from 'drizzle-orm';
import type { ApproveRequest } from '@svc/proto/gen/svc/promotions/v1/promotions_pb.ts';
import type { Environment } from '../../apps/environments/index.ts';
import { notFound } from '../../kit/not-found.ts';
import { rowsOf, type RowOf, type Who } from '../../kit/resource/index.ts';
import { promotions } from './schema.ts';

export type Promotion = RowOf<typeof promotions>;
export type PromotionRef = Pick<ApproveRequest, 'environmentId' | 'promotionId'>;

/** Asked with each change, because what expires does so without the environment's lock. */
export const isPending = eq(promotions.state, 'pending');

export const promotionRows = rowsOf(promotions);

export async function findPromotion(
  who: Who,
  { id: environmentId }: Pick<Environment, 'id'>,
  promotionId: string,
): Promise<Promotion> {
  const promotion = await promotionRows.find(who, promotionId);
  if (promotion.environmentId !== environmentId) throw notFound(promotionRows.kind);
  return promotion;
}

/**
 * The pending ones of the environment that are older than the promotion, which the caller has locked with the
 * environment.
 */
export async function pendingBefore(
  tx: Who,
  { id, environmentId }: Promotion,
): Promise<readonly Promotion[]> {
  const older = sql`${promotions.id} < ${id}`;
  const where = and(eq(promotions.environmentId, environmentId), isPending, older);
  return await promotionRows.list(tx, { where });
}
