/**
 * Joining a team by invitation: with the account that was invited, or by making it. Whoever made the invitation saw its token too, so that it
 * proves nothing about the address: the account that it makes is unverified, and an unverified account joins another team only when that
 * confirms it.
 */
import { apiError } from '@svc/proto/http/errors.ts';
import { checkPasswordStrength, createUser, findUserByEmail, findUserById } from '../accounts/index.ts';
import type { Passwords, User } from '../accounts/index.ts';
import { appendAudit, recordAct } from '../../platform/ledger/index.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Ctx } from '../../platform/context.ts';
import type { CredentialChanges } from '../../platform/credential-changes.ts';
import { isUniqueViolation } from '../../platform/db/index.ts';
import type { Database } from '../../platform/db/index.ts';
import { newId } from '../../platform/ids.ts';
import { awaitWord, findInvite, useInvite } from './invites.ts';
import type { Invite } from './invites.ts';
import { findMember, findTeam, insertMember, lockTeam } from './store.ts';
import type { Member, Team } from './store.ts';

export interface AcceptDeps {
  readonly clock: Clock;
  readonly passwords: Passwords;
  readonly changes: CredentialChanges;
}

export interface Acceptance {
  readonly token: string;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
}

/** Undefined: the acceptance is noted, and the team must confirm it. */
export async function acceptInvite(
  deps: AcceptDeps,
  ctx: Ctx,
  request: Acceptance,
): Promise<{ team: Team; member: Member } | undefined> {
  const { caller, db } = ctx;
  if (caller.kind !== 'anonymous' && caller.kind !== 'session') throw inPersonOnly();
  const invite = await findInvite(db, request.token, deps.clock.now());
  if (invite === undefined) throw invalid();
  const fresh = caller.kind === 'anonymous' ? await newAccount(deps, db, invite, request) : undefined;
  try {
    return await db.transact(async (tx) => {
      // Removing its maker takes the same lock, and may have come first.
      await lockTeam(tx, invite.teamId);
      if ((await findInvite(tx, request.token, deps.clock.now())) === undefined) throw invalid();
      return await join(deps, tx, ctx, invite, fresh);
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

/** It would gain a team for the account that the key was not made for. */
function inPersonOnly(): Error {
  return apiError(
    'session_required',
    'an API key cannot accept an invitation; sign in with the invited address, or send no credential to create its account',
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
  deps: AcceptDeps,
  db: Database,
  invite: Invite,
  request: Acceptance,
): Promise<User> {
  const { username, password } = request;
  if ((await findUserByEmail(db, invite.email)) !== undefined) throw signInFirst();
  if (username === undefined || password === undefined) {
    throw apiError(
      'credentials_missing',
      'send username and password to create the account, or sign in and accept again',
    );
  }
  checkPasswordStrength(password, { email: invite.email, username });
  const passwordHash = await deps.passwords.hash(password);
  const createdAt = deps.clock.now();
  return {
    id: newId('user', createdAt.getTime()),
    email: invite.email,
    username,
    staff: false,
    passwordHash,
    emailVerifiedAt: null,
    createdAt,
  };
}

async function join(
  deps: AcceptDeps,
  db: Database,
  ctx: Ctx,
  invite: Invite,
  fresh: User | undefined,
): Promise<{ team: Team; member: Member } | undefined> {
  const { caller } = ctx;
  const now = deps.clock.now();
  const user = fresh ?? (await findUserById(db, caller.userId));
  if (user === undefined || user.email !== invite.email) {
    throw apiError(
      'invite_other_account',
      'the invitation is for another e-mail address than the one of this account; sign in with the invited one',
    );
  }
  if (fresh === undefined && user.emailVerifiedAt === null) {
    await awaitWord(db, invite.id, user.id, now);
    const details = { email: invite.email, username: user.username };
    await recordAct(db, ctx, {
      chain: invite.teamId,
      action: 'team_invite.awaits_confirmation',
      target: invite.id,
      details,
    });
    return undefined;
  }
  if (!(await useInvite(db, invite.id, now))) throw invalid();
  if (fresh !== undefined) await createUser(db, fresh);
  await insertMember(db, invite.teamId, { userId: user.id, role: invite.role, joinedAt: now });
  await deps.changes.announce(db, { userId: user.id });
  const team = await findTeam(db, invite.teamId);
  const member = await findMember(db, invite.teamId, user.id);
  if (team === undefined || member === undefined) throw invalid(); // deleted at this very moment
  const act = {
    chain: team.id,
    action: 'team_member.added',
    target: user.id,
    details: {
      username: user.username,
      role: member.role,
      inviteId: invite.id,
      newAccount: fresh !== undefined,
    },
  };
  if (fresh === undefined) await recordAct(db, ctx, act);
  else {
    const actor = { kind: 'user' as const, id: fresh.id, display: fresh.username };
    await appendAudit(db, { ...act, actor, requestId: ctx.call.requestId }, now);
  }
  return { team, member };
}
