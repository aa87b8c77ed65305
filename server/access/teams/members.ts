/**
 * Who may change whom. Nobody gives or takes a role above the own one; admins are changed by owners alone; a team keeps at
 * least one owner. All of it runs under the lock of the team's row.
 */
import { apiError } from '@svc/proto/http/errors.ts';
import { requireRole } from '../../platform/authorise.ts';
import type { Role } from '../../platform/context.ts';
import type { Database } from '../../platform/db/index.ts';
import { notFound } from '../../platform/not-found.ts';
import { roleAtLeast, roleGrants } from '../../platform/scopes.ts';
import { countOwners, deleteMember, findMember, lockTeam, setMemberRole } from './store.ts';
import type { Member } from './store.ts';

export interface Actor {
  readonly userId: string;
  readonly role: Role;
}

/** Throws `role_insufficient` when the actor may not give this role. */
export function assertMayGive(actor: Actor, role: Role): void {
  requireRole(actor.role, role, { act: `giving the role ${role}` });
}

/** Whether a member with this role may invite somebody with that one. */
export function mayInvite(own: Role, given: Role): boolean {
  return roleGrants(own, 'team:manage') && roleAtLeast(own, given);
}

function assertMayChange(actor: Actor, member: Member): void {
  if (actor.userId === member.userId) return;
  const needed: Role = member.role === 'owner' || member.role === 'admin' ? 'owner' : 'admin';
  requireRole(actor.role, needed, { act: `changing a member with the role ${member.role}` });
}

/** The team's row is locked from here to the end of the transaction; the actor's role is read again under that lock. */
export async function lockedActor(db: Database, teamId: string, actorId: string): Promise<Actor> {
  if (!(await lockTeam(db, teamId))) throw notFound('team');
  const actor = await findMember(db, teamId, actorId);
  if (actor === undefined) throw notFound('team');
  return actor;
}

async function lockedPair(
  db: Database,
  teamId: string,
  actorId: string,
  userId: string,
): Promise<{ actor: Actor; member: Member }> {
  const actor = await lockedActor(db, teamId, actorId);
  const member = await findMember(db, teamId, userId);
  if (member === undefined) throw notFound('member');
  return { actor, member };
}

async function assertNotLastOwner(db: Database, teamId: string, member: Member): Promise<void> {
  if (member.role !== 'owner' || (await countOwners(db, teamId)) > 1) return;
  throw apiError('last_owner', 'the member is the only owner of the team; make somebody else an owner first');
}

export async function changeRole(
  db: Database,
  teamId: string,
  actorId: string,
  userId: string,
  role: Role,
): Promise<{ readonly member: Member; readonly before: Role }> {
  const { actor, member } = await lockedPair(db, teamId, actorId, userId);
  assertMayChange(actor, member);
  assertMayGive(actor, role);
  if (role !== 'owner') await assertNotLastOwner(db, teamId, member);
  await setMemberRole(db, teamId, userId, role);
  return { member: { ...member, role }, before: member.role };
}

/** Also how a member leaves. Returns who it was. */
export async function removeMember(
  db: Database,
  teamId: string,
  actorId: string,
  userId: string,
): Promise<Member> {
  const { actor, member } = await lockedPair(db, teamId, actorId, userId);
  assertMayChange(actor, member);
  await assertNotLastOwner(db, teamId, member);
  await deleteMember(db, teamId, userId);
  return member;
}
