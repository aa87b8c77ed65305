/**
 * Approvals, and whether they count. One counts while what it was given to stays as it was, and while its
 * person may approve: as an admin or owner of the team without a break, and, where a key gave it, with a key
 * that has not ended. What does not count is void from the next decision on for good, whatever is changed
 * back.
 */
import { and, isNull, sql } from 'drizzle-orm';
import { endOfKey } from '../../access/apikeys/index.ts';
import type { Environment } from '../../apps/environments/index.ts';
import type { Ctx } from '../../kit/context.ts';
import { newId } from '../../base/ids.ts';
import { inTeams, type Who } from '../../kit/resource/index.ts';
import { roleGrants, ROLES } from '../../kit/scopes.ts';
import { promotionApprovals } from './schema.ts';
import { isPending, promotionRows, type Promotion } from './store.ts';
import { changesBetween, subjectOf, type Subject } from './subject.ts';

type Stored = typeof promotionApprovals.$inferSelect;

/** As it is stored, and what its person or key has lost since. */
export interface Approval extends Stored {
  readonly lost: 'member' | 'role' | 'key' | null;
}

/** `voidReason`: null if it counts, or counted when the promotion was decided. */
export type Standing = Pick<Stored, 'id' | 'userId' | 'at' | 'fingerprint' | 'voidReason'>;

const MAY_APPROVE = ROLES.filter((role) => roleGrants(role, 'release:approve'));

const LOST: Readonly<Record<NonNullable<Approval['lost']>, string>> = {
  member: 'its person has left the team',
  role: 'its person is no admin or owner of the team any more',
  key: 'the API key that it was given with has ended',
};
const UNBOUND = 'it was given before approvals were bound to what they approve';

/** The approvals come oldest first. */
export async function approvalsOf(
  { db, teams }: Who,
  promotionIds: readonly string[],
): Promise<readonly Approval[]> {
  return await db.sql<Approval[]>`
    select g.id, g.team_id as "teamId", g.promotion_id as "promotionId", g.user_id as "userId", g.at, g.key_id as "keyId", g.fingerprint,
      g.void_at as "voidAt", g.void_reason as "voidReason",
      case when m.user_id is null or m.joined_at > g.at then 'member'
        when m.role <> all(${MAY_APPROVE}::text[]) then 'role'
        when g.key_id is not null and coalesce(${endOfKey(db.sql, db.sql`g.key_id`)}, 'epoch') <= now() then 'key' end as lost
    from promotion_approvals g
    left join team_members m on m.team_id = g.team_id and m.user_id = g.user_id
    where g.promotion_id = any(${[...promotionIds]}::text[]) and g.team_id = any(${teams.teamIds}::text[])
    order by g.at, g.id`;
}

/**
 * The approvals of a promotion are judged against what would be approved now. Without a subject it is
 * decided, and they stand as they are stored.
 */
export function standingOf(
  promotion: Pick<Promotion, 'subject'>,
  approvals: readonly Approval[],
  subject: Subject | undefined,
): readonly Standing[] {
  return approvals.map((approval) => ({
    ...approval,
    voidReason: approval.voidReason ?? (subject === undefined ? null : whyVoid(promotion, approval, subject)),
  }));
}

function whyVoid(
  { subject: before }: Pick<Promotion, 'subject'>,
  { fingerprint, lost }: Approval,
  subject: Subject,
): string | null {
  if (fingerprint === null || before === null) return UNBOUND;
  if (fingerprint !== subject.fingerprint) return changesBetween(before, subject.parts);
  return lost === null ? null : LOST[lost];
}

export const counted = (standing: readonly Standing[]): readonly Standing[] =>
  standing.filter(({ voidReason }) => voidReason === null);

export interface Count {
  /** Promotion with the fingerprint of the count. */
  readonly promotion: Promotion;
  readonly subject: Subject;
  /** Approvals that count. */
  readonly approvals: readonly Standing[];
  /** Approvals that have ceased to count. */
  readonly voided: readonly Standing[];
}

/**
 * Under the environment's lock: what does not count any more becomes void, and the count is that of the
 * promotion as it is now.
 */
export async function recount(tx: Ctx, environment: Environment, promotion: Promotion): Promise<Count> {
  const subject = await subjectOf(tx, environment, promotion);
  const live = (await approvalsOf(tx, [promotion.id])).filter(({ voidAt }) => voidAt === null);
  const standing = standingOf(promotion, live, subject);
  const voided = standing.filter(({ voidReason }) => voidReason !== null);
  const at = tx.clock.now();
  for (const { id, voidReason } of voided)
    await tx.db.orm
      .update(promotionApprovals)
      .set({ voidAt: at, voidReason })
      .where(and(inTeams(promotionApprovals, tx.teams), sql`${promotionApprovals.id} = ${id}`));
  const { fingerprint, parts } = subject;
  const set = fingerprint === promotion.fingerprint ? {} : { fingerprint, subject: parts };
  const bound = (await promotionRows.update(tx, promotion.id, { set, where: isPending })) ?? promotion;
  return { promotion: bound, subject, approvals: counted(standing), voided };
}

/** Counts the approvals with those that came since. */
export async function countedNow(
  tx: Ctx,
  { promotion, subject }: Pick<Count, 'promotion' | 'subject'>,
): Promise<readonly Standing[]> {
  return counted(standingOf(promotion, await approvalsOf(tx, [promotion.id]), subject));
}

/** It is false where this person's approval counts already. */
export async function addApproval(
  tx: Ctx,
  { id: promotionId, teamId, fingerprint }: Promotion,
): Promise<boolean> {
  const { kind, userId, credentialId } = tx.caller;
  const at = tx.clock.now();
  const keyId = kind === 'session' ? null : credentialId;
  const { count } = await tx.db.orm
    .insert(promotionApprovals)
    .values({ id: newId('apv', at.getTime()), teamId, promotionId, userId, at, keyId, fingerprint })
    .onConflictDoNothing({
      target: [promotionApprovals.promotionId, promotionApprovals.userId],
      where: isNull(promotionApprovals.voidAt),
    });
  return count === 1;
}

/**
 * Answers what makes a promotion the person's own, so that the person's approval is none of somebody else;
 * undefined: nothing.
 */
export async function ownedAs(
  { db: { sql: tag }, teams }: Who,
  { teamId, releaseId, requestedBy }: Promotion,
  userId: string,
): Promise<string | undefined> {
  if (requestedBy === userId) return 'asked for the promotion';
  const ours = [...teams.teamIds];
  const [row] = await tag<Array<{ created: boolean; submitted: boolean }>>`
    select r.created_by = ${userId} as created, exists (
      select from release_artifacts ra
      join artifact_sources s on s.team_id = ra.team_id and s.artifact_id = ra.artifact_id and s.origin = 'build'
      join builds b on b.id = s.ref and b.team_id = s.team_id and b.created_by = ${userId}
      where ra.release_id = r.id and ra.team_id = r.team_id
    ) as submitted
    from releases r where r.id = ${releaseId} and r.team_id = ${teamId} and r.team_id = any(${ours}::text[])`;
  if (row?.created === true) return 'created its release';
  return row?.submitted === true ? 'submitted a build of it' : undefined;
}
