/** A team's word for somebody with an unverified address who accepted its invitation. */
import { apiError } from '@svc/proto/http/errors.ts';
import { recordAct } from '../../platform/ledger/index.ts';
import type { Ctx } from '../../platform/context.ts';
import type { CredentialChanges } from '../../platform/credential-changes.ts';
import type { Database } from '../../platform/db/index.ts';
import { assertMayGrantRole } from '../../platform/grants.ts';
import { notFound } from '../../platform/not-found.ts';
import { findInviteById, useInvite } from './invites.ts';
import { assertMayGive, lockedActor } from './members.ts';
import { findMember, insertMember } from './store.ts';
import type { Member } from './store.ts';

/** Gives the role as inviting does, so that it asks the same of the caller. */
export async function confirmInvite(
  { changes }: { readonly changes: CredentialChanges },
  db: Database,
  ctx: Ctx,
  which: { readonly teamId: string; readonly inviteId: string },
): Promise<Member> {
  const { teamId, inviteId } = which;
  const actor = await lockedActor(db, teamId, ctx.caller.userId);
  const now = ctx.clock.now();
  const invite = await findInviteById(db, which, now);
  if (invite === undefined) throw notFound('invitation');
  assertMayGrantRole(ctx.caller, invite.role);
  assertMayGive(actor, invite.role);
  const { awaiting, role } = invite;
  if (awaiting === undefined || !(await useInvite(db, inviteId, now))) {
    throw apiError('state_conflict', 'nobody who must be confirmed has accepted this invitation');
  }
  await insertMember(db, teamId, { userId: awaiting.userId, role, joinedAt: now });
  await changes.announce(db, { userId: awaiting.userId });
  const member = await findMember(db, teamId, awaiting.userId);
  if (member === undefined) throw notFound('account'); // gone at this very moment
  const details = { username: member.username, role, inviteId, confirmed: true };
  await recordAct(db, ctx, { chain: teamId, action: 'team_member.added', target: member.userId, details });
  return member;
}
