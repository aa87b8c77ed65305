/**
 * Each act changes a team, its members or its invitations in one transaction, with its entry in the ledger.
 */
import { apiError } from '@svc/proto/http/errors.ts';
import {
  UpdateRequestSchema,
  type TeamBilling as BillingMessage,
  type CreateRequest,
  type InviteMemberRequest,
  type ListFailureSignaturesRequest,
  type ListFailureSignaturesResponse,
  type UpdateRequest,
} from '@svc/proto/gen/svc/teams/v1/teams_pb.ts';
import { endSessions, findUserById } from '../accounts/index.ts';
import { revokeKeys } from '../apikeys/index.ts';
import type { Ctx, Role } from '../../kit/context.ts';
import type { FeatureGate } from '../../kit/feature-gate.ts';
import type { InboxSource } from '../../kit/inbox.ts';
import type { OverviewSource, SetupStepSource } from '../../kit/overview.ts';
import type { SearchSource } from '../../kit/search.ts';
import type { Database } from '../../base/db/index.ts';
import { newId } from '../../base/ids.ts';
import { assertMayGrantRole } from '../../kit/grants.ts';
import { notFound } from '../../kit/not-found.ts';
import { change, given } from '../../kit/resource/index.ts';
import type { Operator } from '../../kit/resource/schema.ts';
import { roleName } from '../../kit/scopes.ts';
import type { AcceptDeps } from './accept-invite.ts';
import type { InviteMails } from './invite-mail.ts';
import {
  createInvite,
  deleteInvite,
  endInvitesOf,
  findInviteById,
  useInvite,
  type InviteOfTeam,
  type InviteRow,
  type MadeInvite,
} from './invites.ts';
import { assertMayGive, assertNotLastOwner, lockedActor, lockedPair } from './members.ts';
import { assertNotPayer } from './payers.ts';
import {
  countOwnedTeams,
  defaultRegion,
  deleteMember,
  deleteTeam,
  findMember,
  findMemberByEmail,
  findTeam,
  insertMember,
  insertTeam,
  lockTeam,
  setMemberRole,
  updateTeam,
  type Member,
  type Membership,
  type Team,
  type TeamChanges,
} from './store.ts';

/** Dispatch fills this in. Both run in the transaction of the change. */
export interface TeamWork {
  /** Queued work of the team follows its region's operator; offered and running work stays. */
  reroute(db: Database, team: { readonly id: string; readonly operator: Operator }): Promise<void>;
  /** Before a team goes: its runners are revoked and its open work is cancelled. */
  close(db: Database, teamId: string): Promise<void>;
}

/** Credit fills this in. */
export interface TeamCredit {
  /**
   * Minor units of bought credit that are left. Purchases for the team wait until the transaction has ended.
   */
  boughtLeft(db: Database, teamId: string): Promise<number>;
}

/** Billing fills this in. */
export interface TeamBilling {
  /** There is a provider of payments: who pays for a team is bound to it. */
  readonly charges: boolean;
  ofTeam(ctx: Ctx, teamId: string): Promise<BillingMessage>;
  /** The account pays for one team more: its plan limits that, too. In the transaction of the change. */
  paidBy(db: Database, payerId: string): Promise<void>;
}

/** Failures fill this in. */
export type FailureSignatures = (
  ctx: Ctx,
  request: ListFailureSignaturesRequest,
) => Promise<ListFailureSignaturesResponse>;

/** Features above fill it with what ends when somebody leaves a team, in the transaction of the leaving. */
export type MemberLeft = (tx: Ctx, member: Membership) => Promise<void>;

export interface TeamsDeps extends AcceptDeps {
  /** Undefined where nothing is mailed. */
  readonly mails: InviteMails | undefined;
  readonly memberLeft: () => readonly MemberLeft[];
  readonly teamsMax: number;
  readonly work: () => TeamWork;
  readonly credit: () => TeamCredit;
  readonly billing: () => TeamBilling;
  readonly failureSignatures: () => FailureSignatures;
  readonly gate: FeatureGate;
  readonly searchSources: () => readonly SearchSource[];
  readonly inboxSources: () => readonly InboxSource[];
  readonly overviewSources: () => readonly OverviewSource[];
  readonly setupSteps: () => readonly SetupStepSource[];
}

/** Makes the subject of an entry of the ledger about a whole team. */
const aTeam = (teamId: string) => ({ id: teamId, teamId });

export async function teamOf(db: Database, teamId: string): Promise<Team> {
  const team = await findTeam(db, teamId);
  if (team === undefined) throw notFound('team');
  return team;
}

export async function createTeam(deps: TeamsDeps, ctx: Ctx, request: CreateRequest): Promise<Team> {
  const { caller } = ctx;
  if (caller.onlyTeamId !== undefined) {
    throw apiError(
      'scope_missing',
      'the API key is narrowed to one team and cannot create another; use one that is not',
    );
  }
  return await ctx.db.transact(async (db) => {
    const tx = { ...ctx, db };
    const { id: teamId } = await foundTeam(deps, tx, request.name);
    for (const member of request.members) await invite(deps, tx, { ...member, teamId });
    await deps.changes.announce(db, { userId: caller.userId });
    return await teamOf(db, teamId);
  });
}

async function foundTeam({ teamsMax, billing }: TeamsDeps, ctx: Ctx, name: string) {
  const { userId } = ctx.caller;
  const createdAt = ctx.clock.now();
  const id = newId('team', createdAt.getTime());
  const act = { action: 'team.created', on: aTeam(id), details: () => ({ name }) };
  return await change(ctx, act, async ({ db }) => {
    await assertVerified(db, userId);
    await refuseTooMany(db, userId, teamsMax);
    await insertTeam(db, { id, name, regionId: await defaultRegion(db), createdAt, payerId: userId });
    await insertMember(db, { teamId: id, userId, role: 'owner', joinedAt: createdAt });
    await billing().paidBy(db, userId);
    return { id };
  });
}

async function assertVerified(db: Database, userId: string): Promise<void> {
  const verifiedAt = (await findUserById(db, userId))?.emailVerifiedAt ?? null;
  if (verifiedAt !== null) return;
  throw apiError(
    'email_unverified',
    'the e-mail address of the account is not verified, so that it cannot found a team; verify it (account.requestEmailVerification), or ask those who run this installation to do so',
  );
}

async function refuseTooMany(db: Database, userId: string, max: number): Promise<void> {
  const current = await countOwnedTeams(db, userId);
  if (current < max) return;
  throw apiError('limit_reached', `the account owns ${current} teams, at most ${max} are allowed`, {
    details: { resource: 'team', limit: max, current },
  });
}

export async function changeTeam(ctx: Ctx, request: UpdateRequest): Promise<Team> {
  const { teamId } = request;
  const { name, description, avatarUrl, kind } = given(UpdateRequestSchema, request) as TeamChanges;
  const set = { name, description, avatarUrl, kind };
  return await ctx.db.transact(async (db) => {
    await lockTeam(db, teamId);
    const before = await teamOf(db, teamId);
    const fields = (['name', 'description', 'avatarUrl', 'kind'] as const).filter(
      (field) => set[field] !== undefined && set[field] !== before[field],
    );
    if (fields.length === 0) return before;
    const renamed = fields.includes('name') && { from: before.name, to: name };
    const act = { action: 'team.updated', on: aTeam(teamId), details: () => ({ fields, ...renamed }) };
    return await change({ ...ctx, db }, act, async () => {
      await updateTeam(db, teamId, set);
      return await teamOf(db, teamId);
    });
  });
}

/** A team shares these with others, as counts. */
type Shares = 'shareFailures';

/** Said again it changes nothing. */
export async function setSharing(
  ctx: Ctx,
  {
    teamId,
    shares,
    enabled,
  }: { readonly teamId: string; readonly shares: Shares; readonly enabled: boolean },
): Promise<Team> {
  return await ctx.db.transact(async (db) => {
    await lockTeam(db, teamId);
    const before = await teamOf(db, teamId);
    if (before[shares] === enabled) return before;
    const act = { action: 'team.sharing_set', on: aTeam(teamId), details: () => ({ shares, enabled }) };
    return await change({ ...ctx, db }, act, async () => {
      await updateTeam(db, teamId, { [shares]: enabled });
      return { ...before, [shares]: enabled };
    });
  });
}

export async function removeTeam(
  { changes, work, credit }: TeamsDeps,
  ctx: Ctx,
  teamId: string,
): Promise<void> {
  // The ledger outlives the team, and staff read it from then on.
  const details = ({ name }: Team) => ({ name });
  await change(ctx, { action: 'team.deleted', on: aTeam(teamId), details }, async ({ db }) => {
    await lockTeam(db, teamId);
    const team = await teamOf(db, teamId);
    if (team.servicePool)
      throw apiError(
        'team_protected',
        'this team holds the runners of the service itself and cannot be deleted',
      );
    refuseCreditLeft(await credit().boughtLeft(db, teamId));
    await work().close(db, teamId);
    await changes.announce(db, { teamId });
    await deleteTeam(db, teamId);
    return team;
  });
}

function refuseCreditLeft(boughtCents: number): void {
  if (boughtCents === 0) return;
  throw apiError(
    'credit_remaining',
    `the team has ${boughtCents} minor units of credit that was bought, it can be deleted when none is left; use it up, or have those who run this installation refund it`,
    { details: { resource: 'credit', boughtCents } },
  );
}

export async function changeMemberRole(
  { changes }: Pick<TeamsDeps, 'changes'>,
  ctx: Ctx,
  { teamId, userId, role }: Membership & { readonly role: Role },
): Promise<Member> {
  assertMayGrantRole(ctx.caller, role);
  return await ctx.db.transact(async (db) => {
    const tx = { ...ctx, db };
    const { actor, member } = await lockedPair(tx, { teamId, userId });
    assertMayGive(actor, role);
    if (role !== 'owner') await assertNotLastOwner(db, member);
    const { username, role: from } = member;
    if (from === role) return member;
    const details = (after: Ended) => ({ username, from, to: role, ...ended(after) });
    const act = { action: 'team_member.role_changed', on: { id: userId, teamId }, details };
    return await change(tx, act, async () => {
      await setMemberRole(db, member, role);
      const invitesEnded = await endInvitesOf(db, member, role);
      await changes.announce(db, { userId });
      return { ...member, role, invitesEnded };
    });
  });
}

/** A member leaves by it, too. */
export async function dropMember(
  { changes, billing, memberLeft }: Pick<TeamsDeps, 'changes' | 'billing' | 'memberLeft'>,
  ctx: Ctx,
  { teamId, userId }: Membership,
): Promise<void> {
  const details = ({ username, role, ...more }: Member & Ended) => ({ username, role, ...ended(more) });
  const act = { action: 'team_member.removed', on: { id: userId, teamId }, details };
  await change(ctx, act, async (tx) => {
    const { db } = tx;
    const { member } = await lockedPair(tx, { teamId, userId });
    await assertNotLastOwner(db, member);
    if (billing().charges) await assertNotPayer(db.sql, member);
    await deleteMember(db, member);
    const invitesEnded = await endInvitesOf(db, member, undefined);
    await revokeKeys(db, member, tx.clock.now());
    for (const follow of memberLeft()) await follow(tx, { teamId, userId });
    await changes.announce(db, { userId });
    return { ...member, invitesEnded };
  });
}

/** The member signs in again. */
export async function endMemberSessions(
  { changes }: Pick<TeamsDeps, 'changes'>,
  ctx: Ctx,
  { teamId, userId }: Membership,
): Promise<{ readonly ended: number }> {
  const details = ({ username, ended: count }: Member & { ended: number }) => ({ username, ended: count });
  const act = { action: 'team_member.sessions_ended', on: { id: userId, teamId }, details };
  return await change(ctx, act, async (tx) => {
    const { member } = await lockedPair(tx, { teamId, userId });
    const count = await endSessions(tx.db, userId);
    await changes.announce(tx.db, { userId });
    return { ...member, ended: count };
  });
}

/** Open invitations that ended with a change of their maker. */
interface Ended {
  readonly invitesEnded: number;
}

export const ended = ({ invitesEnded }: Ended) => invitesEnded > 0 && { invitesEnded };

export async function invite(
  { mails }: Pick<TeamsDeps, 'mails'>,
  ctx: Ctx,
  { teamId, email: given, role: number }: Pick<InviteMemberRequest, 'teamId' | 'email' | 'role'>,
): Promise<MadeInvite> {
  const role = number === undefined ? 'developer' : roleName(number);
  const email = given.trim().toLowerCase();
  assertMayGrantRole(ctx.caller, role);
  const details = () => ({ email, role });
  return await change(ctx, { action: 'team_invite.created', details }, async (tx) => {
    assertMayGive(await lockedActor(tx, teamId), role);
    if ((await findMemberByEmail(tx.db, { teamId, email })) !== undefined)
      throw apiError('already_member', 'the person is a member of the team already; change the role instead');
    const made = await createInvite(tx, {
      teamId,
      email,
      role,
      mail: mails === undefined ? null : 'waiting',
    });
    await mails?.add(tx, made);
    return made;
  });
}

export async function revokeInvite(ctx: Ctx, which: InviteOfTeam): Promise<void> {
  const details = ({ email }: InviteRow) => ({ email });
  await change(ctx, { action: 'team_invite.revoked', details }, async ({ db }) => {
    const deleted = await deleteInvite(db, which);
    if (deleted === undefined) throw notFound('invitation');
    return deleted;
  });
}

/**
 * A team lets in somebody with an unverified address who accepted its invitation. It gives the role as
 * inviting does, so that it asks the same of the caller.
 */
export async function confirmInvite(
  { changes }: Pick<TeamsDeps, 'changes'>,
  ctx: Ctx,
  which: InviteOfTeam,
): Promise<Member> {
  const { teamId, inviteId } = which;
  return await ctx.db.transact(async (db) => {
    const tx = { ...ctx, db };
    const actor = await lockedActor(tx, teamId);
    const joinedAt = ctx.clock.now();
    const found = await findInviteById(db, which, joinedAt);
    if (found === undefined) throw notFound('invitation');
    const { awaiting, role } = found;
    assertMayGrantRole(ctx.caller, role);
    assertMayGive(actor, role);
    if (awaiting === undefined || !(await useInvite(db, inviteId, joinedAt))) {
      throw apiError('state_conflict', 'nobody who must be confirmed has accepted this invitation', {
        details: { resource: 'invitation' },
      });
    }
    const { userId } = awaiting;
    const details = ({ username }: Member) => ({ username, role, inviteId, confirmed: true });
    const act = { action: 'team_member.added', on: { id: userId, teamId }, details };
    return await change(tx, act, async () => {
      await insertMember(db, { teamId, userId, role, joinedAt });
      await changes.announce(db, { userId });
      const member = await findMember(db, { teamId, userId });
      if (member === undefined) throw notFound('account'); // It is gone at this very moment.
      return member;
    });
  });
}
