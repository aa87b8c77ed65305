/** Sign-in and sign-out. */
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { networkOf } from '@svc/proto/http/address.ts';
import { apiError } from '@svc/proto/http/errors.ts';
import { implement, type Handlers } from '@svc/proto/http/implement.ts';
import { AuthService, type LoginRequest } from '@svc/proto/gen/svc/auth/v1/auth_pb.ts';
import type { SessionTimes } from './accounts.settings.ts';
import type { Ctx } from '../../kit/context.ts';
import type { CredentialChanges } from '../../kit/credential-changes.ts';
import { checkCode, type ProofDeps } from './proof.ts';
import { endSession, openSession, sessionTimesOf } from './sessions.ts';
import { findUserByEmail, normalizeEmail, renewPasswordHash, type User } from './store.ts';
import { findTotp } from './totp-store.ts';

export interface AuthDeps extends ProofDeps {
  readonly changes: CredentialChanges;
  readonly sessions: SessionTimes;
}

/** The prefix makes browsers insist on Secure and Path=/. */
export const SESSION_COOKIE = '__Host-sid';

export function createAuthService(deps: AuthDeps): Handlers<Ctx> {
  return implement(AuthService, {
    login: async (request, ctx: Ctx) => {
      const user = await checkPassword(deps, ctx, request);
      const hasCode = await checkSecondFactor(deps, ctx, { user, code: request.totpCode });
      const method = hasCode ? 'password_and_code' : 'password';
      const session = await openSession({ ...ctx, times: deps.sessions, method }, user);
      if (session === undefined) throw wrongPassword();
      setCookie(ctx, session.token, sessionTimesOf(deps.sessions, user.staff).absoluteMs);
      return { token: session.token, expiresAt: timestampFromDate(session.expiresAt), userId: user.id };
    },
    logout: async (_request, ctx: Ctx) => {
      await endSession(ctx.db, { id: ctx.caller.credentialId, userId: ctx.caller.userId });
      await deps.changes.announce(ctx.db, { credentialId: ctx.caller.credentialId });
      setCookie(ctx, '', 0);
      return {};
    },
  });
}

/** A browser says so with its fetch metadata; nobody else keeps cookies of ours. */
function setCookie(ctx: Ctx, token: string, maxAgeMs: number): void {
  if (ctx.call.header('sec-fetch-site') === undefined) return;
  const age = Math.floor(maxAgeMs / 1_000);
  ctx.call.responseHeaders.set(
    'set-cookie',
    `${SESSION_COOKIE}=${token}; Path=/; Max-Age=${age}; Secure; HttpOnly; SameSite=Lax`,
  );
}

async function checkPassword(
  deps: AuthDeps,
  { db, call }: Ctx,
  { email, password }: LoginRequest,
): Promise<User> {
  const account = normalizeEmail(email);
  const isKnown = deps.tries.password.spend(account, call.remoteAddress);
  const user = await findUserByEmail(db, account);
  const stranger = isKnown ? undefined : networkOf(call.remoteAddress);
  const { ok, stale } = await deps.passwords.verify(password, user?.passwordHash, stranger);
  if (!ok || user === undefined) throw wrongPassword();
  deps.tries.password.wasRight(account, call.remoteAddress);
  if (!stale) return user;
  const passwordHash = await deps.passwords.hash(password);
  if (!(await renewPasswordHash(db, user, passwordHash))) throw wrongPassword();
  return { ...user, passwordHash };
}

function wrongPassword(): Error {
  return apiError('credentials_invalid', 'e-mail address or password is wrong');
}

/**
 * It is asked for only after the password was right, so that it tells a stranger nothing about an account.
 * Returns whether the account has one.
 */
async function checkSecondFactor(
  deps: AuthDeps,
  ctx: Ctx,
  { user, code }: { readonly user: User; readonly code: string | undefined },
): Promise<boolean> {
  const totp = await findTotp(ctx.db, user.id);
  if (totp === undefined || totp.confirmedAt === null) return false;
  if (code === undefined)
    throw apiError('totp_required', 'this account asks for a one-time code; send totpCode too');
  await checkCode(deps, ctx, { user, code });
  return true;
}
