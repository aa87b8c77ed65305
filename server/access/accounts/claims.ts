/**
 * A person claims an address with a token that staff, who know its owner, hand over; the token makes the
 * verified account. An unverified account that holds the address gives way. It is not taken over but left
 * behind: whoever made it knows its password and put into it what they liked, and what it did stays its own
 * in the ledger. It loses the address, its name, its credentials and its teams in the one transaction that
 * makes the new account.
 */
// No TeamScope: rows of an account, a credential or the installation, which belong to no team.
import { randomBytes } from 'node:crypto';
import { and, eq, isNull } from 'drizzle-orm';
import { apiError } from '@svc/proto/http/errors.ts';
import type { ClaimEmailRequest } from '@svc/proto/gen/svc/account/v1/account_pb.ts';
import { appendAudit, PLATFORM_CHAIN, type AuditAct } from '../../kit/ledger/index.ts';
import type { Ctx, Role } from '../../kit/context.ts';
import type { CredentialChanges } from '../../kit/credential-changes.ts';
import { isUniqueViolation, type Database } from '../../base/db/index.ts';
import { newId } from '../../base/ids.ts';
import { change } from '../../kit/resource/index.ts';
import { checkPasswordStrength, type Passwords } from '../../base/password.ts';
import { accountClaims } from './schema.ts';
import { endSessions, hashToken } from './sessions.ts';
import {
  createUser,
  findUserByEmail,
  lockUserByEmail,
  normalizeEmail,
  retireUser,
  type User,
} from './store.ts';
import { removeTotp } from './totp-store.ts';

const LIFE_MS = 7 * 86_400_000;

/** Teams stand above accounts and fill this in. */
export interface TeamsOfAccount {
  /** Returns the teams that the caller may touch, by name. */
  named(
    ctx: Ctx,
  ): Promise<ReadonlyArray<{ readonly teamId: string; readonly name: string; readonly role: Role }>>;
  /** Before the account's row is locked: who joins, invites or leaves locks the team first. */
  lock(db: Database, userId: string): Promise<void>;
  /**
   * `from` leaves all its teams; those that it owned alone pass to `to`. In the transaction of the claim, as
   * `lock`.
   */
  handOver(tx: Ctx, who: Handover): Promise<void>;
}

export interface Handover {
  readonly from: User;
  readonly to: User;
}

export interface ClaimDeps {
  readonly passwords: Passwords;
  readonly changes: CredentialChanges;
  readonly teamsOfAccount: () => TeamsOfAccount;
  readonly revokeKeys: () => RevokeKeys;
}

/**
 * Revokes all keys of an account, in the transaction in which it gives way. Keys stand above accounts and
 * fill this in.
 */
export type RevokeKeys = (db: Database, of: { readonly userId: string }, now: Date) => Promise<unknown>;

export async function createClaim(
  ctx: Ctx,
  given: string,
): Promise<{ readonly token: string; readonly expiresAt: Date }> {
  const email = normalizeEmail(given);
  const token = `claim_${randomBytes(24).toString('base64url')}`;
  const now = ctx.clock.now();
  const expiresAt = new Date(now.getTime() + LIFE_MS);
  const id = newId('clm', now.getTime());
  const details = () => ({ email, expiresAt: expiresAt.toISOString() });
  await change(ctx, { action: 'account_claim.created', on: { id }, details }, async ({ db }) => {
    assertUnverified(await findUserByEmail(db, email));
    return await db.sql`
      insert into account_claims (id, email, token_hash, created_by, created_at, expires_at)
      values (${id}, ${email}, ${hashToken(token)}, ${ctx.caller.userId}, ${now}, ${expiresAt})
      on conflict (email) where used_at is null do update set
        id = excluded.id, token_hash = excluded.token_hash, created_by = excluded.created_by,
        created_at = excluded.created_at, expires_at = excluded.expires_at`;
  });
  return { token, expiresAt };
}

/** Makes the verified account. */
export async function useClaim(deps: ClaimDeps, ctx: Ctx, request: ClaimEmailRequest): Promise<User> {
  const { passwords } = deps;
  const { token, username, password } = request;
  const claimed = await findClaim(ctx.db, token, ctx.clock.now());
  if (claimed === undefined) throw claimInvalid();
  checkPasswordStrength(password, { email: claimed.email, username });
  // Both before the transaction: they take long.
  const passwordHash = await passwords.hash(password);
  const unknownHash = await passwords.hash(randomBytes(32).toString('base64url'));
  const now = ctx.clock.now();
  const id = newId('user', now.getTime());
  const { email } = claimed;
  const user = { id, email, username, staff: false, passwordHash, emailVerifiedAt: now, createdAt: now };
  try {
    await ctx.db.transact(async (db) => {
      const tx = { ...ctx, db };
      const claim = await takeClaim(db, token, now);
      if (claim === undefined) throw claimInvalid();
      const before = await findUserByEmail(db, claim.email);
      if (before !== undefined) await deps.teamsOfAccount().lock(db, before.id);
      const holder = await lockUserByEmail(db, claim.email);
      assertUnverified(holder);
      if (holder !== undefined) await retireUser(db, holder.id, unknownHash);
      await createUser(db, user);
      if (holder !== undefined) await giveWay(deps, tx, { from: holder, to: user });
      const details = { email: user.email, claimId: claim.id };
      await recordFor(tx, user, { chain: PLATFORM_CHAIN, action: 'account.claimed', target: id, details });
    });
  } catch (error) {
    // The next try will find that account.
    if (isUniqueViolation(error, 'users_email'))
      throw conflict('the address got an account at this very moment; try again');
    throw error;
  }
  return user;
}

async function giveWay(
  { changes, revokeKeys, teamsOfAccount }: ClaimDeps,
  tx: Ctx,
  who: Handover,
): Promise<void> {
  const { from, to } = who;
  const { db } = tx;
  await endSessions(db, from.id);
  await revokeKeys()(db, { userId: from.id }, tx.clock.now());
  await removeTotp(db, from.id);
  await teamsOfAccount().handOver(tx, who);
  await changes.announce(db, { userId: from.id });
  const details = { email: from.email, username: from.username, by: to.id };
  await recordFor(tx, to, { chain: PLATFORM_CHAIN, action: 'account.gave_way', target: from.id, details });
}

/** The caller is nobody yet: the account that the call makes is the actor. */
export async function recordFor(
  { db, call, clock }: Ctx,
  { id, username }: User,
  act: Omit<AuditAct, 'actor' | 'requestId'>,
): Promise<void> {
  const actor = { kind: 'user', id, display: username } as const;
  await appendAudit(db, { ...act, actor, requestId: call.requestId }, clock.now());
}

type Claim = Pick<typeof accountClaims.$inferSelect, 'id' | 'email'>;

/** It holds as long as who vouched is staff. */
async function findClaim({ sql }: Database, token: string, now: Date): Promise<Claim | undefined> {
  const [row] = await sql<Claim[]>`
    select c.id, c.email from account_claims c join users u on u.id = c.created_by and u.staff
    where c.token_hash = ${hashToken(token)} and c.used_at is null and c.expires_at > ${now}`;
  return row;
}

async function takeClaim(db: Database, token: string, now: Date): Promise<Claim | undefined> {
  const claim = await findClaim(db, token, now);
  if (claim === undefined) return undefined;
  const { id, tokenHash, usedAt } = accountClaims;
  const taken = await db.orm
    .update(accountClaims)
    .set({ usedAt: now })
    .where(and(eq(id, claim.id), eq(tokenHash, hashToken(token)), isNull(usedAt)))
    .returning({ id });
  return taken.length === 1 ? claim : undefined;
}

function assertUnverified(holder: User | undefined): void {
  if (holder !== undefined && holder.emailVerifiedAt !== null)
    throw conflict('the address belongs to a verified account already; sign in with it');
}

function conflict(message: string): Error {
  return apiError('state_conflict', message, { details: { resource: 'account' } });
}

function claimInvalid(): Error {
  return apiError(
    'claim_invalid',
    'the claim does not exist, was used, was replaced, or is older than 7 days; ask staff for a new one',
  );
}
