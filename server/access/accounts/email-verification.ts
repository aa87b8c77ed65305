/**
 * A person proves the address of the own account with a token that is mailed to it. The token takes a session
 * of that account besides: whoever gets the mail without having asked for it verifies nothing, and the
 * account may be a squatter's.
 */
// No TeamScope: rows of an account, a credential or the installation, which belong to no team.
import { randomBytes } from 'node:crypto';
import { apiError } from '@svc/proto/http/errors.ts';
import type { Database, SqlTag } from '../../base/db/index.ts';
import { newId } from '../../base/ids.ts';
import { tooMany } from '../../base/rate-limit.ts';
import type { Secrets } from '../../base/secrets.ts';
import type { Ctx } from '../../kit/context.ts';
import type { System } from '../../kit/feature.ts';
import type { JobKind } from '../../kit/jobs/index.ts';
import { addMail, mailJob, type Letter, type Mail, type MailRef } from '../../kit/mail/index.ts';
import { notFound } from '../../kit/not-found.ts';
import { change } from '../../kit/resource/index.ts';
import { hashToken } from './sessions.ts';
import { setEmailVerified } from './store.ts';

const KIND = 'email_verification_mail';
const HOUR_MS = 3_600_000;
const LIFE_MS = 24 * HOUR_MS;
/** Mails of one account within an hour. */
const PER_HOUR = 5;

export interface VerificationDeps {
  readonly secrets: Pick<Secrets, 'seal'>;
  readonly mail: Mail | undefined;
}

export async function requestVerification({ mail, secrets }: VerificationDeps, ctx: Ctx) {
  if (mail === undefined)
    throw apiError(
      'mail_unconfigured',
      'this installation has no mail server; ask those who run it to verify the address',
    );
  const { userId } = ctx.caller;
  const now = ctx.clock.now();
  const expiresAt = new Date(now.getTime() + LIFE_MS);
  const act = {
    action: 'account.email_verification_requested',
    on: { id: userId },
    details: ({ mailedTo }: { mailedTo: string }) => ({ email: mailedTo }),
  };
  return await change(ctx, act, async ({ db }) => {
    const email = await unverifiedEmail(db, userId);
    await refuseTooMany(db.sql, userId, now);
    const token = `emt_${randomBytes(24).toString('base64url')}`;
    const id = newId('emv', now.getTime());
    await db.sql`
      insert into email_verifications (id, user_id, email, token_hash, created_at, expires_at)
      values (${id}, ${userId}, ${email}, ${hashToken(token)}, ${now}, ${expiresAt})`;
    await addMail(db, secrets, { kind: KIND, teamId: null, ref: id, token, at: now });
    return { mailedTo: email, expiresAt };
  });
}

/** Locks the account, so that what is counted still holds when it is written. */
async function unverifiedEmail({ sql }: Database, userId: string): Promise<string> {
  const [row] = await sql<Array<{ email: string; verified: boolean }>>`
    select email, email_verified_at is not null as verified from users where id = ${userId} for update`;
  if (row === undefined) throw notFound('account');
  if (row.verified)
    throw apiError('state_conflict', 'the e-mail address of the account is verified already', {
      details: { resource: 'account' },
    });
  return row.email;
}

async function refuseTooMany(sql: SqlTag, userId: string, now: Date): Promise<void> {
  const since = new Date(now.getTime() - HOUR_MS);
  const rows = await sql<Array<{ createdAt: Date }>>`
    select created_at as "createdAt" from email_verifications where user_id = ${userId} and created_at > ${since}
    order by created_at desc limit ${PER_HOUR}`;
  const oldest = rows[PER_HOUR - 1];
  if (oldest === undefined) return;
  throw tooMany(
    `${PER_HOUR} mails to verify this account within an hour`,
    oldest.createdAt.getTime() - since.getTime(),
  );
}

/** The same answer for a token that is wrong, used, too old, or another account's. */
export async function useVerification(ctx: Ctx, token: string): Promise<void> {
  const { userId } = ctx.caller;
  const act = {
    action: 'account.email_verified',
    on: { id: userId },
    details: ({ email }: { email: string }) => ({ email, by: 'mail' }),
  };
  await change(ctx, act, async ({ db }) => {
    const now = ctx.clock.now();
    const [used] = await db.sql<Array<{ email: string }>>`
      update email_verifications v set used_at = ${now} from users u
      where v.token_hash = ${hashToken(token)} and v.user_id = ${userId} and v.used_at is null and v.expires_at > ${now}
        and u.id = v.user_id and u.email = v.email
      returning v.email`;
    if (used === undefined) throw notFound('e-mail verification');
    await setEmailVerified(db, userId, now);
    return used;
  });
}

/** They are counted for an hour, and good for nothing after a day. */
export async function purgeVerifications({ sql }: Database, nowMs: number): Promise<number> {
  const { count } = await sql`delete from email_verifications where expires_at <= ${new Date(nowMs)}`;
  return count;
}

type Parts = Pick<System, 'mail' | 'secrets' | 'db' | 'clock' | 'publicUrl'>;

/** None where nothing is mailed. */
export function verificationJobs({ mail, secrets, db, clock, publicUrl }: Parts): readonly JobKind[] {
  if (mail === undefined) return [];
  const letter = async (which: MailRef) => {
    const found = await openVerification(db, which, clock.now());
    return found && letterOf(found, `${publicUrl()}/console/verify-email#token=${which.token}`);
  };
  return [mailJob({ mail, secrets }, { kind: KIND, letter })];
}

interface OpenVerification {
  readonly email: string;
  readonly username: string;
  readonly expiresAt: Date;
}

/** It may have been used, the account have given way, or its address have been verified otherwise, since. */
async function openVerification(
  { sql }: Database,
  { ref, token }: MailRef,
  now: Date,
): Promise<OpenVerification | undefined> {
  const [row] = await sql<OpenVerification[]>`
    select v.email, u.username, v.expires_at as "expiresAt"
    from email_verifications v join users u on u.id = v.user_id and u.email = v.email and u.email_verified_at is null
    where v.id = ${ref} and v.token_hash = ${hashToken(token)} and v.used_at is null and v.expires_at > ${now}`;
  return row;
}

function letterOf({ email, username, expiresAt }: OpenVerification, url: string): Letter {
  return {
    to: email,
    subject: 'Verify your e-mail address',
    paragraphs: [`The account ${username} gives this address as its own.`],
    link: { label: 'Verify the address', url },
    after: [
      `The link works once, until ${expiresAt.toUTCString()}, for who is signed in as ${username}.`,
      'If this is not your account, ignore this mail: nothing happens then.',
    ],
  };
}
