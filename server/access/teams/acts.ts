/** What changes a team, its members and its invitations: each in one transaction with its entry in the ledger. */
import { apiError } from '@svc/proto/http/errors.ts';
import type { CreateRequest } from '@svc/proto/gen/svc/teams/v1/teams_pb.ts';
import { findUserById } from '../accounts/index.ts';
import { revokeKeysOfTeam } from '../apikeys/index.ts';
import { recordAct } from '../../platform/ledger/index.ts';
import type { Limits } from '../../config.ts';
import type { Ctx, Role } from '../../platform/context.ts';
import type { Database } from '../../platform/db/index.ts';
import { newId } from '../../platform/ids.ts';
import { assertMayGrantRole } from '../../platform/grants.ts';
import { notFound } from '../../platform/not-found.ts';
import { roleName } from '../../platform/scopes.ts';
import type { AcceptDeps } from './accept-invite.ts';
import { createInvite, deleteInvite, endInvitesOf } from './invites.ts';
import { assertMayGive, changeRole, lockedActor, removeMember } from './members.ts';
import {
  countOwnedTeams,
  defaultRegion,
  deleteTeam,
  findMemberByEmail,
  findTeam,
  insertMember,
  insertTeam,
  lockTeam,
  updateTeam,
} from './store.ts';
import type { Member, Team, TeamChanges } from './store.ts';

/** What dispatch does for teams; server/engine/work implements it. Both run in the transaction of the change. */
export interface TeamWork {
  /** Queued work of the team follows its region's operator; offered and running work stays. */
  reroute(
    db: Database,
    team: { readonly id: string; readonly operator: 'service' | 'customer' },
  ): Promise<void>;
  /** Before a team goes: its runners are revoked and its open work is cancelled. */
  close(db: Database, teamId: string): Promise<void>;
}

export interface TeamsDeps extends AcceptDeps {
  readonly limits: Limits;
  readonly work: TeamWork;
}

export async function teamOf(db: Database, teamId: string): Promise<Team> {
  const team = await findTeam(db, teamId);
  if (team === undefined) throw notFound('team');
  return team;
}

export async function invite(
  db: Database,
  ctx: Ctx,
  request: { readonly teamId: string; readonly email: string; readonly role: Role },
): ReturnType<typeof createInvite> {
  const { caller, clock } = ctx;
  assertMayGrantRole(caller, request.role);
  assertMayGive(await lockedActor(db, request.teamId, caller.userId), request.role);
  if ((await findMemberByEmail(db, request.teamId, request.email)) !== undefined) {
    throw apiError('already_member', 'the person is a member of the team already; change the role instead');
  }
  const created = await createInvite({ db, clock, caller }, request);
  const { id, email, role, teamId } = created.invite;
  await recordAct(db, ctx, {
    chain: teamId,
    action: 'team_invite.created',
    target: id,
    details: { email, role },
  });
  return created;
}

export async function changeTeam(
  db: Database,
  ctx: Ctx,
  teamId: string,
  changes: TeamChanges,
): Promise<Team> {
  if (!(await lockTeam(db, teamId))) throw notFound('team');
  const before = await teamOf(db, teamId);
  await updateTeam(db, teamId, changes);
  const after = await teamOf(db, teamId);
  const fields = (['name', 'description', 'avatarUrl', 'kind'] as const).filter(
    (field) => before[field] !== after[field],
  );
  if (fields.length > 0) {
    await recordAct(db, ctx, {
      chain: teamId,
      action: 'team.updated',
      target: teamId,
      details: { fields, ...(fields.includes('name') && { from: before.name, to: after.name }) },
    });
  }
  return after;
}

export async function createTeam(
  deps: TeamsDeps,
  db: Database,
  ctx: Ctx,
  request: CreateRequest,
): Promise<Team> {
  const { caller } = ctx;
  if (caller.onlyTeamId !== undefined) {
    throw apiError(
      'scope_missing',
      'the API key is narrowed to one team and cannot create another; use one that is not',
    );
  }
  const verifiedAt = (await findUserById(db, caller.userId))?.emailVerifiedAt ?? null;
  if (verifiedAt === null) {
    throw apiError(
      'email_unverified',
      'the e-mail address of the account is not verified, so that it cannot found a team; ask those who run this installation to verify it',
    );
  }
  const owned = await countOwnedTeams(db, caller.userId);
  if (owned >= deps.limits.teamsMax) {
    throw apiError(
      'limit_reached',
      `the account owns ${owned} teams, at most ${deps.limits.teamsMax} are allowed`,
      {
        details: { limit: deps.limits.teamsMax, current: owned },
      },
    );
  }
  const now = deps.clock.now();
  const region = await defaultRegion(db);
  const id = newId('team', now.getTime());
  await insertTeam(db, {
    id,
    name: request.name,
    kind: 'organization',
    regionId: region.id,
    servicePool: false,
    createdAt: now,
  });
  await insertMember(db, id, { userId: caller.userId, role: 'owner', joinedAt: now });
  await recordAct(db, ctx, {
    chain: id,
    action: 'team.created',
    target: id,
    details: { name: request.name },
  });
  for (const { email, role } of request.members) {
    await invite(db, ctx, {
      teamId: id,
      email: email.trim().toLowerCase(),
      role: role === undefined ? 'developer' : roleName(role),
    });
  }
  await deps.changes.announce(db, { userId: caller.userId });
  return await teamOf(db, id);
}

export async function removeTeam(deps: TeamsDeps, db: Database, ctx: Ctx, teamId: string): Promise<void> {
  if (!(await lockTeam(db, teamId))) throw notFound('team');
  const team = await teamOf(db, teamId);
  if (team.servicePool)
    throw apiError(
      'team_protected',
      'this team holds the runners of the service itself and cannot be deleted',
    );
  await deps.work.close(db, teamId);
  await deps.changes.announce(db, { teamId });
  await deleteTeam(db, teamId);
  // The ledger outlives the team; staff read it from then on.
  await recordAct(db, ctx, {
    chain: teamId,
    action: 'team.deleted',
    target: teamId,
    details: { name: team.name },
  });
}

export async function changeMemberRole(
  { changes }: TeamsDeps,
  db: Database,
  ctx: Ctx,
  change: { readonly teamId: string; readonly userId: string; readonly role: Role },
): Promise<Member> {
  const { teamId, userId, role } = change;
  assertMayGrantRole(ctx.caller, role);
  const { member, before } = await changeRole(db, teamId, ctx.caller.userId, userId, role);
  const invitesEnded = await endInvitesOf(db, { teamId, ...member }, role);
  await changes.announce(db, { userId });
  if (before !== member.role) {
    const { username } = member;
    await recordAct(db, ctx, {
      chain: teamId,
      action: 'team_member.role_changed',
      target: userId,
      details: { username, from: before, to: member.role, ...(invitesEnded > 0 && { invitesEnded }) },
    });
  }
  return member;
}

/** Also how a member leaves. */
export async function dropMember(
  { changes }: TeamsDeps,
  db: Database,
  ctx: Ctx,
  { teamId, userId }: { readonly teamId: string; readonly userId: string },
): Promise<void> {
  const member = await removeMember(db, teamId, ctx.caller.userId, userId);
  const { username, role } = member;
  const invitesEnded = await endInvitesOf(db, { teamId, ...member }, undefined);
  await revokeKeysOfTeam(db, { userId, teamId }, ctx.clock.now());
  await changes.announce(db, { userId });
  await recordAct(db, ctx, {
    chain: teamId,
    action: 'team_member.removed',
    target: userId,
    details: { username, role, ...(invitesEnded > 0 && { invitesEnded }) },
  });
}

export async function revokeInvite(
  db: Database,
  ctx: Ctx,
  { teamId, inviteId }: { readonly teamId: string; readonly inviteId: string },
): Promise<void> {
  const email = await deleteInvite(db, teamId, inviteId);
  if (email === undefined) throw notFound('invitation');
  await recordAct(db, ctx, {
    chain: teamId,
    action: 'team_invite.revoked',
    target: inviteId,
    details: { email },
  });
}
