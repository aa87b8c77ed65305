/**
 * An account gives way to the verified one of its address: it leaves its teams, and what it alone owned
 * passes on, and others pay.
 */
// No TeamScope: memberships and invitations, which a TeamScope is made of.
import { recordFor, type TeamsOfAccount, type User } from '../accounts/index.ts';
import type { Ctx, Role } from '../../kit/context.ts';
import { ended, type TeamsDeps } from './acts.ts';
import { endInvitesOf } from './invites.ts';
import { becomePayer, payerOf } from './payers.ts';
import { countOwners, deleteMember, firstOwner, insertMember, listMemberships, lockTeam } from './store.ts';

export const createTeamsOfAccount = ({ memberLeft }: Pick<TeamsDeps, 'memberLeft'>): TeamsOfAccount => ({
  named: async ({ db: { sql }, caller }) =>
    await sql<Array<{ teamId: string; name: string; role: Role }>>`
      select t.id as "teamId", t.name, m.role from team_members m join teams t on t.id = m.team_id
      where m.user_id = ${caller.userId} and t.id = any(${[...caller.memberships.keys()]}) order by t.name, t.id`,
  lock: async (db, userId) => {
    for (const { teamId } of await listMemberships(db, userId)) await lockTeam(db, teamId);
  },
  handOver: async (tx, { from, to }) => {
    const { db } = tx;
    for (const { teamId, role } of await listMemberships(db, from.id)) {
      await lockTeam(db, teamId);
      if (role === 'owner' && (await countOwners(db, teamId)) === 1) {
        await insertMember(db, { teamId, userId: to.id, role, joinedAt: tx.clock.now() });
        const details = { username: to.username, role, inPlaceOf: from.id };
        await recordFor(tx, to, { chain: teamId, action: 'team_member.added', target: to.id, details });
      }
      const gone = { teamId, userId: from.id, email: from.email };
      await deleteMember(db, gone);
      for (const follow of memberLeft()) await follow(tx, { teamId, userId: from.id });
      await payInstead(tx, teamId, { from, to });
      const invitesEnded = await endInvitesOf(db, gone, undefined);
      const details = { username: from.username, role, ...ended({ invitesEnded }) };
      await recordFor(tx, to, { chain: teamId, action: 'team_member.removed', target: from.id, details });
    }
  },
});

/**
 * The first of the owners that are left: `to` where it took the team over. It does not pay for a team that it
 * is not in, and of which it may know nothing.
 */
async function payInstead(
  tx: Ctx,
  teamId: string,
  { from, to }: { readonly from: User; readonly to: User },
): Promise<void> {
  const { db } = tx;
  if ((await payerOf(db.sql, teamId)) !== from.id) return;
  const payerId = await firstOwner(db, teamId);
  if (payerId === undefined) return;
  await becomePayer(db, { teamId, payerId, now: tx.clock.now() });
  const details = { from: from.id, to: payerId };
  await recordFor(tx, to, { chain: teamId, action: 'billing.payer_changed', target: teamId, details });
}
