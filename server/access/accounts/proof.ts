/**
 * A proof shows that the person of a session is there, and not somebody who got hold of the session: the
 * current password, a one-time code, or a sign-in with both a moment ago. Asked before the account's own
 * locks are changed. Wrong ones count as tries, like those at sign-in.
 */
import { apiError } from '@svc/proto/http/errors.ts';
import type { Ctx } from '../../kit/context.ts';
import type { Secrets } from '../../base/secrets.ts';
import type { Passwords } from '../../base/password.ts';
import { beganWithBothFactors } from './sessions.ts';
import type { User } from './store.ts';
import { acceptRecoveryCode, acceptTotpCode, findTotp } from './totp-store.ts';
import type { Tries } from './tries.ts';

export interface ProofDeps {
  readonly secrets: Secrets;
  readonly passwords: Passwords;
  readonly tries: Tries;
}

/** Says where the database is asked, and from where the tries come. */
type Where = Pick<Ctx, 'db' | 'call' | 'clock'>;

/** For so long a sign-in with both factors proves as much as one of them, in minutes. */
const SIGNED_IN_MINUTES = 10;

export interface Proof {
  readonly user: User;
  readonly currentPassword?: string | undefined;
  readonly code?: string | undefined;
}

/**
 * Throws `proof_required` when nothing was sent and the sign-in is no proof, `credentials_invalid` or
 * `totp_invalid` when it is wrong, `rate_limited` after too many.
 */
export async function assertInPerson(
  deps: ProofDeps,
  ctx: Where & Pick<Ctx, 'caller'>,
  { user, currentPassword, code }: Proof,
): Promise<void> {
  if (currentPassword === undefined && code === undefined) {
    const since = new Date(ctx.clock.now().getTime() - SIGNED_IN_MINUTES * 60_000);
    if (await beganWithBothFactors(ctx.db, ctx.caller.credentialId, since)) return;
    throw apiError(
      'proof_required',
      `the session alone is not enough for this: it did not begin with password and one-time code within the last ${SIGNED_IN_MINUTES} minutes; sign in again with both, or send currentPassword, or code with a one-time code`,
    );
  }
  if (currentPassword !== undefined) await checkCurrentPassword(deps, ctx, { user, currentPassword });
  if (code !== undefined) await checkCode(deps, ctx, { user, code });
}

async function checkCurrentPassword(
  { tries, passwords }: ProofDeps,
  { call }: Where,
  { user, currentPassword }: { readonly user: User; readonly currentPassword: string },
): Promise<void> {
  tries.password.spend(user.email, call.remoteAddress);
  const { ok } = await passwords.verify(currentPassword, user.passwordHash);
  if (!ok) throw apiError('credentials_invalid', 'the current password is wrong');
  tries.password.wasRight(user.email, call.remoteAddress);
}

/**
 * Accepts a code of the app, or a recovery code. Throws `totp_invalid`, also for an account that has
 * confirmed no app.
 */
export async function checkCode(
  { tries, secrets }: ProofDeps,
  { db, call, clock }: Where,
  { user, code }: { readonly user: User; readonly code: string },
): Promise<void> {
  tries.code.spend(user.id, call.remoteAddress);
  const totp = await findTotp(db, user.id);
  const confirmed = totp !== undefined && totp.confirmedAt !== null ? totp : undefined;
  const ok =
    confirmed !== undefined &&
    (/^\d{6}$/.test(code)
      ? await acceptTotpCode({ db, clock, secrets }, confirmed, code)
      : await acceptRecoveryCode(db, user.id, code));
  if (!ok) {
    throw apiError(
      'totp_invalid',
      'one-time code is wrong, was used already, or the clock of the device is off by more than 30 s',
    );
  }
  tries.code.wasRight(user.id, call.remoteAddress);
}
