/**
 * Joining a team by invitation: with the account that was invited, or by making it. A mailed invitation
 * proves the address. Of any other whoever made it saw the token too, so that it proves nothing: the account
 * that it makes is unverified, and an unverified account joins another team only when that confirms it.
 */
import { apiError } from '@svc/proto/http/errors.ts';
import { checkPasswordStrength, type Passwords } from '../../base/password.ts';
import {
  createUser,
  findUserByEmail,
  findUserById,
  newUser,
  setEmailVerified,
  type User,
} from '../accounts/index.ts';
import { appendAudit, PLATFORM_CHAIN, recordAct } from '../../kit/ledger/index.ts';
import type { Ctx } from '../../kit/context.ts';
import type { CredentialChanges } from '../../kit/credential-changes.ts';
import { isUniqueViolation } from '../../base/db/index.ts';
import { findInvite, noteAwaiting, useInvite, type Invite } from './invites.ts';
import { findMember, findTeam, insertMember, lockTeam, type Member, type Team } from './store.ts';

export interface AcceptDeps {
  readonly passwords: Passwords;
  readonly changes: CredentialChanges;
}

export interface Acceptance {
  readonly token: string;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
}

/** Returns undefined when the acceptance is only noted, and the team must confirm it. */
export async function acceptInvite(
  deps: AcceptDeps,
  ctx: Ctx,
  request: Acceptance,
): Promise<{ team: Team; member: Member } | undefined> {
  const { caller, db } = ctx;
  if (caller.kind !== 'anonymous' && caller.kind !== 'session')
    throw apiError(
      'session_required',
      'an API key cannot accept an invitation; sign in with the invited address, or send no credential to create its account',
    );
  const { token } = request;
  const invite = await findInvite(db, token, ctx.clock.now());
  if (invite === undefined) throw invalid();
  const { email } = invite;
  const isProven = invite.mail !== null;
  const fresh =
    caller.kind === 'anonymous' ? await newAccount(deps, ctx, { ...request, email, isProven }) : undefined;
  try {
    return await db.transact(async (handle) => {
      // Removing its maker takes the same lock, and may have come first.
      await lockTeam(handle, invite.teamId);
      if ((await findInvite(handle, token, ctx.clock.now())) === undefined) throw invalid();
      return await join(deps, { ...ctx, db: handle }, { invite, fresh });
    });
  } catch (error) {
    if (isUniqueViolation(error, 'users_email')) throw signInFirst();
    throw error;
  }
}

function invalid(): Error {
  return apiError(
    'invite_invalid',
    'the invitation does not exist, was used, was taken back, is older than 7 days, or whoever made it may not invite any more; ask for a new one',
  );
}

function signInFirst(): Error {
  return apiError(
    'credentials_missing',
    'the invited address has an account already; sign in with it and accept again, or, when it is not yours, ask those who run this installation for a claim of the address',
  );
}

/** Outside of the transaction, because the hash takes long. */
async function newAccount(
  { passwords }: AcceptDeps,
  { db, clock }: Ctx,
  {
    email,
    username,
    password,
    isProven,
  }: Acceptance & { readonly email: string; readonly isProven: boolean },
): Promise<User> {
  if ((await findUserByEmail(db, email)) !== undefined) throw signInFirst();
  if (username === undefined || password === undefined) {
    throw apiError(
      'credentials_missing',
      'send username and password to create the account, or sign in and accept again',
    );
  }
  checkPasswordStrength(password, { email, username });
  const passwordHash = await passwords.hash(password);
  const createdAt = clock.now();
  const emailVerifiedAt = isProven ? createdAt : null;
  return newUser({ email, username, staff: false, passwordHash, emailVerifiedAt, createdAt });
}

/** The invitation was mailed to the address: an account that was not verified before is from now on. */
async function prove(tx: Ctx, { id, email }: User, inviteId: string): Promise<void> {
  if ((await setEmailVerified(tx.db, id, tx.clock.now())) === undefined) return;
  const details = { email, by: 'invitation', inviteId };
  await recordAct(tx.db, tx, {
    chain: PLATFORM_CHAIN,
    action: 'account.email_verified',
    target: id,
    details,
  });
}

async function join(
  { changes }: AcceptDeps,
  tx: Ctx,
  { invite, fresh }: { readonly invite: Invite; readonly fresh: User | undefined },
): Promise<{ team: Team; member: Member } | undefined> {
  const { caller, db, clock, call } = tx;
  const { id: inviteId, teamId, email, role } = invite;
  const now = clock.now();
  const user = fresh ?? (await findUserById(db, caller.userId));
  if (user === undefined || user.email !== email) {
    throw apiError(
      'invite_other_account',
      'the invitation is for another e-mail address than the one of this account; sign in with the invited one',
    );
  }
  const { id: userId, username } = user;
  if (fresh === undefined && user.emailVerifiedAt === null && invite.mail === null) {
    await noteAwaiting(db, { inviteId, userId }, now);
    const details = { email, username };
    const act = { action: 'team_invite.awaits_confirmation', target: inviteId, details };
    await recordAct(db, tx, { ...act, chain: teamId });
    return undefined;
  }
  if (!(await useInvite(db, inviteId, now))) throw invalid();
  if (fresh !== undefined) await createUser(db, fresh);
  else await prove(tx, user, inviteId);
  await insertMember(db, { teamId, userId, role, joinedAt: now });
  await changes.announce(db, { userId });
  const team = await findTeam(db, teamId);
  const member = await findMember(db, { teamId, userId });
  if (team === undefined || member === undefined) throw invalid(); // It was deleted at this very moment.
  const details = { username, role: member.role, inviteId, newAccount: fresh !== undefined };
  const act = { chain: teamId, action: 'team_member.added', target: userId, details };
  if (fresh === undefined) await recordAct(db, tx, act);
  else {
    const actor = { kind: 'user' as const, id: userId, display: username };
    await appendAudit(db, { ...act, actor, requestId: call.requestId }, now);
  }
  return { team, member };
}
