/**
 * These rules say who may change whom. Nobody gives or takes a role above the own one; admins are changed by
 * owners alone; a team keeps at least one owner. All of it runs under the lock of the team's row.
 */
import { apiError } from '@svc/proto/http/errors.ts';
import { requireRole } from '../../kit/authorise.ts';
import type { Ctx, Role } from '../../kit/context.ts';
import type { Database } from '../../base/db/index.ts';
import { notFound } from '../../kit/not-found.ts';
import { roleAtLeast, roleGrants } from '../../kit/scopes.ts';
import { countOwners, findMember, lockTeam, type Member, type Membership } from './store.ts';

/** Returns whether a member with this role may invite somebody with that one. */
export function mayInvite(own: Role, given: Role): boolean {
  return roleGrants(own, 'team:manage') && roleAtLeast(own, given);
}

/** Throws `role_insufficient` when the actor may not give this role. */
export function assertMayGive(actor: Member, role: Role): void {
  requireRole(actor.role, role, { act: `giving the role ${role}` });
}

/**
 * Finds the caller as a member. The team's row is locked from here to the end of the transaction, and the
 * role is read again under that lock.
 */
export async function lockedActor({ db, caller }: Ctx, teamId: string): Promise<Member> {
  const locked = await lockTeam(db, teamId);
  const actor = locked ? await findMember(db, { teamId, userId: caller.userId }) : undefined;
  if (actor === undefined) throw notFound('team');
  return actor;
}

/** The caller, and the member whom the caller may change: the caller too. */
export async function lockedPair(
  tx: Ctx,
  which: Membership,
): Promise<{ readonly actor: Member; readonly member: Member }> {
  const actor = await lockedActor(tx, which.teamId);
  const member = await findMember(tx.db, which);
  if (member === undefined) throw notFound('member');
  if (actor.userId !== member.userId) {
    const needed = roleAtLeast(member.role, 'admin') ? 'owner' : 'admin';
    requireRole(actor.role, needed, { act: `changing a member with the role ${member.role}` });
  }
  return { actor, member };
}

export async function assertNotLastOwner(db: Database, { teamId, role }: Member): Promise<void> {
  if (role !== 'owner' || (await countOwners(db, teamId)) > 1) return;
  throw apiError('last_owner', 'the member is the only owner of the team; make somebody else an owner first');
}
