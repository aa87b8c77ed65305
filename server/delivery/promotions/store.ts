/** Rows of promotions and of their approvals. */
import { and, asc, eq, sql } from 'drizzle-orm';
import type { Environment } from '../../apps/environments/index.ts';
import type { Ctx, TeamScope } from '../../platform/context.ts';
import type { SqlTag } from '../../platform/db/index.ts';
import { notFound } from '../../platform/not-found.ts';
import { inTeams, rowsOf } from '../../platform/resource/index.ts';
import type { RowOf, Who } from '../../platform/resource/index.ts';
import { promotionApprovals, promotions } from './schema.ts';

export type Promotion = RowOf<typeof promotions>;
export type Approval = typeof promotionApprovals.$inferSelect;

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

/** Oldest first. */
export async function approvalsOf(
  { db, teams }: Who,
  promotionIds: readonly string[],
): Promise<readonly Approval[]> {
  const of = sql`${promotionApprovals.promotionId} = any(${sql.param([...promotionIds])}::text[])`;
  return await db.orm
    .select()
    .from(promotionApprovals)
    .where(and(inTeams(promotionApprovals, teams), of))
    .orderBy(asc(promotionApprovals.at), asc(promotionApprovals.userId));
}

/** False: this person has approved it before. */
export async function addApproval(tx: Ctx, { id: promotionId, teamId }: Promotion): Promise<boolean> {
  const { userId } = tx.caller;
  const at = tx.clock.now();
  const { count } = await tx.db.orm
    .insert(promotionApprovals)
    .values({ teamId, promotionId, userId, at })
    .onConflictDoNothing();
  return count === 1;
}

/** People whose approval counts now: they may still approve, and are not who asked where that does not count. */
export async function countedApprovals(
  sql: SqlTag,
  scope: TeamScope,
  { promotion, withoutRequester }: { readonly promotion: Promotion; readonly withoutRequester: boolean },
): Promise<readonly string[]> {
  const { id, requestedBy } = promotion;
  const rows = await sql<Array<{ userId: string }>>`
    select a.user_id as "userId" from promotion_approvals a
    join team_members m on m.team_id = a.team_id and m.user_id = a.user_id and m.role in ('admin', 'owner')
    where a.promotion_id = ${id} and a.team_id = any(${[...scope.teamIds]}::text[])
      and not (${withoutRequester}::boolean and a.user_id = ${requestedBy})
    order by a.at, a.user_id`;
  return rows.map(({ userId }) => userId);
}

/** The pending ones of the environment that are older than the promotion, which the caller has locked with the environment. */
export async function pendingBefore(
  tx: Who,
  { id, environmentId }: Promotion,
): Promise<readonly Promotion[]> {
  const older = sql`${promotions.id} < ${id}`;
  const where = and(eq(promotions.environmentId, environmentId), eq(promotions.state, 'pending'), older);
  return await promotionRows.list(tx, { where });
}
