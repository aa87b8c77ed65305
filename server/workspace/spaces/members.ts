/**
 * Here is decided who may change whom in a space; the rules are those of a team's members. Nobody gives or
 * takes a role above the own one; admins and owners are changed by owners alone; a space keeps at least one
 * owner. All of it runs under the lock of the space's row.
 */
import { and, eq } from 'drizzle-orm';
import { apiError } from '@svc/proto/http/errors.ts';
import { requireRole } from '../../kit/authorise.ts';
import type { Ctx, Role } from '../../kit/context.ts';
import type { Database } from '../../base/db/index.ts';
import { notFound } from '../../kit/not-found.ts';
import { change } from '../../kit/resource/index.ts';
import { spaceMembers } from './schema.ts';
import { assertMayGrantSpaceRole, refuseFull, refuseNarrowed } from './acts.ts';
import { countSpaceMembers, findSpaceMember, lockSpace, teammatesAmong, type SpaceMember } from './store.ts';

export const MEMBERS_MAX = 100;

/**
 * The space's row is locked from here to the end of the transaction; the actor's role is read under that
 * lock.
 */
async function lockedActor(db: Database, ctx: Ctx, spaceId: string): Promise<SpaceMember> {
  refuseNarrowed(ctx.caller);
  const locked = await lockSpace(db, spaceId);
  const actor = locked ? await findSpaceMember(db, spaceId, ctx.caller.userId) : undefined;
  if (actor === undefined) throw notFound('space');
  return actor;
}

const inSpace = { of: 'space' } as const;

/** What it takes to change somebody who has this role. */
const neededFor = (role: Role): Role => (role === 'owner' || role === 'admin' ? 'owner' : 'admin');

async function assertOwnerLeft(db: Database, spaceId: string, member: SpaceMember): Promise<void> {
  if (member.role !== 'owner' || (await countSpaceMembers(db, spaceId, 'owner')) > 1) return;
  throw apiError(
    'last_owner',
    'the member is the only owner of the space; make somebody else an owner first, or delete the space',
  );
}

interface GivenRole {
  readonly userId: string;
  /** Role; it is undefined where it is to stay as it was, or developer for a new member. */
  readonly role: Role | undefined;
}

export async function setMember(
  ctx: Ctx,
  spaceId: string,
  { userId, role: given }: GivenRole,
): Promise<SpaceMember> {
  let member: SpaceMember | undefined;
  const act = {
    action: 'space.member_set',
    on: { id: spaceId },
    details: (set: Readonly<Record<string, string | null>>) => set,
  };
  await change(ctx, act, async ({ db }) => {
    const actor = await lockedActor(db, ctx, spaceId);
    const before = await findSpaceMember(db, spaceId, userId);
    // Oneself may always step down; giving is checked below.
    if (userId !== actor.userId)
      requireRole(actor.role, before === undefined ? 'admin' : neededFor(before.role), inSpace);
    const role = given ?? before?.role ?? 'developer';
    requireRole(actor.role, role, inSpace);
    if (before === undefined) await assertAddable(ctx, db, { spaceId, userId });
    else if (role !== 'owner') await assertOwnerLeft(db, spaceId, before);
    member = before;
    if (before?.role === role) return undefined;
    assertMayGrantSpaceRole(ctx.caller, role);
    const target = [spaceMembers.spaceId, spaceMembers.userId];
    const put = db.orm.insert(spaceMembers).values({ spaceId, userId, role, joinedAt: ctx.clock.now() });
    await put.onConflictDoUpdate({ target, set: { role } });
    member = await findSpaceMember(db, spaceId, userId);
    return { userId, from: before?.role ?? null, to: role };
  });
  if (member === undefined) throw new Error('a member that was written under a lock is gone');
  return member;
}

async function assertAddable(
  ctx: Ctx,
  db: Database,
  { spaceId, userId }: { readonly spaceId: string; readonly userId: string },
): Promise<void> {
  if (!(await teammatesAmong(db, ctx.teams, [userId])).has(userId)) throw notFound('account');
  const current = await countSpaceMembers(db, spaceId);
  const held = `the space has ${current} members`;
  refuseFull({ resource: 'member of a space', held, current, limit: MEMBERS_MAX });
}

/** This is also how a member leaves. */
export async function removeMember(ctx: Ctx, spaceId: string, userId: string): Promise<void> {
  const act = {
    action: 'space.member_removed',
    on: { id: spaceId },
    details: ({ role }: SpaceMember) => ({ userId, from: role }),
  };
  await change(ctx, act, async ({ db }) => {
    const actor = await lockedActor(db, ctx, spaceId);
    // Who is in there is for members to see, not to be tried out.
    if (userId !== actor.userId) requireRole(actor.role, 'admin', inSpace);
    const member = await findSpaceMember(db, spaceId, userId);
    if (member === undefined) throw notFound('member');
    if (userId !== actor.userId) requireRole(actor.role, neededFor(member.role), inSpace);
    await assertOwnerLeft(db, spaceId, member);
    const one = and(eq(spaceMembers.spaceId, spaceId), eq(spaceMembers.userId, userId));
    await db.orm.delete(spaceMembers).where(one);
    return member;
  });
}
