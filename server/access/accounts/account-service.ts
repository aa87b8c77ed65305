/** This service shows and changes the calling person's own account. */
import { randomBytes } from 'node:crypto';
import { apiError } from '@svc/proto/http/errors.ts';
import { implement, type Handlers, type Implementation } from '@svc/proto/http/implement.ts';
import {
  AccountDetailsSchema,
  AccountService,
  AdminAccountsService,
  PlanResponseSchema,
  SessionSchema,
  TotpStatusResponseSchema,
  WhoamiResponseSchema,
  type AccountDetails,
  type PlanResponse,
  type WhoamiResponse,
} from '@svc/proto/gen/svc/account/v1/account_pb.ts';
import type { Caller, Ctx } from '../../kit/context.ts';
import type { Database } from '../../base/db/index.ts';
import { change, shown, type Row } from '../../kit/resource/index.ts';
import type { AuthDeps } from './auth-service.ts';
import { createClaim, useClaim, type ClaimDeps } from './claims.ts';
import { checkPasswordStrength } from '../../base/password.ts';
import { requestVerification, useVerification, type VerificationDeps } from './email-verification.ts';
import { assertInPerson } from './proof.ts';
import { endSession, endSessions, openSessions } from './sessions.ts';
import {
  findUserByEmail,
  findUserById,
  renewPasswordHash,
  setEmailVerified,
  setUsername,
  type User,
} from './store.ts';
import { acceptTotpCode, confirmTotp, findTotp, putPendingTotp, removeTotp } from './totp-store.ts';
import { base32, otpauthUrl } from './totp-code.ts';
import type { Message } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { notFound } from '../../kit/not-found.ts';

/** It says what an account pays for, and what that includes. */
export type AccountPlan = Required<Row<Omit<PlanResponse, keyof Message>>>;

/** Reads the plan of the caller's account. */
export type PlanOfAccount = (ctx: Ctx) => Promise<AccountPlan>;

export type AccountDeps = Pick<AuthDeps, 'secrets' | 'tries' | 'sessions'> &
  ClaimDeps &
  VerificationDeps & {
    readonly planOf: () => PlanOfAccount;
  };

export function createAccountService(deps: AccountDeps): Handlers<Ctx> {
  const { secrets } = deps;
  return implement(AccountService, {
    whoami: async (_request, ctx: Ctx) => await describe(deps, ctx),
    plan: async (_request, ctx: Ctx) => shown(PlanResponseSchema, await deps.planOf()(ctx)),
    updateUsername: async ({ username }, ctx: Ctx) => {
      const { userId } = ctx.caller;
      await ctx.db.transact(async (db) => {
        await setUsername(db, userId, username);
        // Whoever was proven knows the name that was.
        await deps.changes.announce(db, { userId });
      });
      return await describe(deps, ctx);
    },
    totpStatus: async (_request, ctx: Ctx) => {
      const { confirmedAt, recoveryHashes = [] } = (await findTotp(ctx.db, ctx.caller.userId)) ?? {};
      const enrolled = confirmedAt !== undefined && confirmedAt !== null;
      const recoveryCodesLeft = recoveryHashes.length;
      return shown(TotpStatusResponseSchema, { enrolled, confirmedAt, recoveryCodesLeft });
    },
    totpEnroll: async (_request, ctx: Ctx) => {
      const user = await ownAccount(ctx.db, ctx.caller);
      const bytes = randomBytes(20);
      if (!(await putPendingTotp({ ...ctx, secrets }, user.id, bytes))) {
        throw apiError(
          'totp_already_enrolled',
          'the account asks for a one-time code already; turn it off first',
        );
      }
      const secret = base32(bytes);
      return { secret, otpauthUrl: otpauthUrl(secret, user.email) };
    },
    totpConfirm: async ({ code }, ctx: Ctx) => ({ recoveryCodes: await confirm(deps, ctx, code) }),
    totpDisable: async (proof, ctx: Ctx) => {
      const { currentPassword, code } = proof;
      const user = await ownAccount(ctx.db, ctx.caller);
      await assertInPerson(deps, ctx, { user, currentPassword, code });
      await change(ctx, own(ctx, 'account.totp_disabled'), async ({ db }) =>
        (await removeTotp(db, user.id)) ? user : undefined,
      );
      return {};
    },
    claimEmail: async (request, ctx: Ctx) => {
      const { id, email } = await useClaim(deps, ctx, request);
      return { userId: id, email };
    },
    changePassword: async ({ currentPassword, newPassword }, ctx: Ctx) => {
      const user = await ownAccount(ctx.db, ctx.caller);
      await assertInPerson(deps, ctx, { user, currentPassword });
      checkPasswordStrength(newPassword, user);
      const hash = await deps.passwords.hash(newPassword); // before the transaction: it takes long
      await change(ctx, own(ctx, 'account.password_changed'), async ({ db }) => {
        if (!(await renewPasswordHash(db, user, hash)))
          throw apiError('credentials_invalid', 'the current password is wrong: it was changed meanwhile');
        await endSessions(db, user.id, ctx.caller.credentialId);
        await deps.changes.announce(db, { userId: user.id });
        return user;
      });
      return {};
    },
    requestEmailVerification: async (_request, ctx: Ctx) => {
      const { mailedTo, expiresAt } = await requestVerification(deps, ctx);
      return { mailedTo, expiresAt: timestampFromDate(expiresAt) };
    },
    verifyEmail: async ({ token }, ctx: Ctx) => {
      await useVerification(ctx, token);
      return await describe(deps, ctx);
    },
    ...sessionHandlers(deps),
  });
}

function sessionHandlers(deps: Pick<AccountDeps, 'sessions' | 'changes'>) {
  return {
    listSessions: async (_request, ctx: Ctx) => {
      const { userId: id, staff, credentialId } = ctx.caller;
      const bounds = { now: ctx.clock.now(), times: deps.sessions };
      const rows = await openSessions(ctx.db, { id, staff }, bounds);
      return {
        sessions: rows.map((row) => shown(SessionSchema, { ...row, current: row.id === credentialId })),
      };
    },
    revokeSession: async ({ sessionId: id }, ctx: Ctx) => {
      const { userId } = ctx.caller;
      await change(
        ctx,
        { action: 'account.session_revoked', on: { id: userId }, details: () => ({ id }) },
        async ({ db }) => {
          if (!(await endSession(db, { id, userId }))) throw notFound('session');
          await deps.changes.announce(db, { credentialId: id });
          return { id };
        },
      );
      return {};
    },
    revokeOtherSessions: async (_request, ctx: Ctx) => {
      const { userId, credentialId } = ctx.caller;
      const details = (done: { ended: number }) => done;
      const act = { action: 'account.sessions_revoked', on: { id: userId }, details };
      return await change(ctx, act, async ({ db }) => {
        const ended = await endSessions(db, userId, credentialId);
        await deps.changes.announce(db, { userId });
        return { ended };
      });
    },
  } satisfies Partial<Implementation<typeof AccountService, Ctx>>;
}

async function confirm(deps: AccountDeps, ctx: Ctx, code: string): Promise<string[]> {
  const { userId } = ctx.caller;
  deps.tries.code.spend(userId, ctx.call.remoteAddress);
  return await change(ctx, own(ctx, 'account.totp_enrolled'), async (tx) => {
    const totp = await findTotp(tx.db, userId);
    if (totp === undefined || totp.confirmedAt !== null) {
      throw apiError(
        'totp_not_pending',
        'no enrollment of a one-time code waits to be confirmed; begin one first',
      );
    }
    if (!(await acceptTotpCode({ ...tx, secrets: deps.secrets }, totp, code))) {
      throw apiError(
        'totp_invalid',
        'one-time code is wrong, or the clock of the device is off by more than 30 s',
      );
    }
    deps.tries.code.wasRight(userId, ctx.call.remoteAddress);
    return await confirmTotp(tx.db, userId, tx.clock.now());
  });
}

/** It names an act on the caller's own account for the ledger. */
const own = ({ caller }: Ctx, action: string) => ({ action, on: { id: caller.userId } });

async function ownAccount(db: Database, caller: Caller): Promise<User> {
  const user = await findUserById(db, caller.userId);
  if (user === undefined)
    throw apiError('credentials_invalid', 'the account of this credential does not exist any more');
  return user;
}

async function describe({ teamsOfAccount }: AccountDeps, ctx: Ctx): Promise<WhoamiResponse> {
  const { db, caller } = ctx;
  const user = await ownAccount(db, caller);
  return shown(WhoamiResponseSchema, {
    ...detailsOf(user),
    credential: caller.kind === 'session' ? 'session' : 'api_key',
    scopes: [...caller.scopes].sort(),
    teams: await teamsOfAccount().named(ctx),
  });
}

export function createAdminAccounts(): Handlers<Ctx> {
  return implement(AdminAccountsService, {
    find: async ({ email }, ctx: Ctx) => show(await findUserByEmail(ctx.db, email)),
    verifyEmail: async ({ userId }, ctx: Ctx) => {
      const act = {
        action: 'account.email_verified',
        on: { id: userId },
        details: ({ email }: User) => ({ email }),
      };
      const verified = await change<User | undefined>(ctx, act, async (tx) =>
        setEmailVerified(tx.db, userId, tx.clock.now()),
      );
      return show(verified ?? (await findUserById(ctx.db, userId)));
    },
    createClaim: async ({ email }, ctx: Ctx) => {
      const { token, expiresAt } = await createClaim(ctx, email);
      return { token, expiresAt: timestampFromDate(expiresAt) };
    },
  });
}

function show(user: User | undefined): AccountDetails {
  if (user === undefined) throw notFound('account');
  return shown(AccountDetailsSchema, detailsOf(user));
}

const detailsOf = (user: User) => ({
  ...user,
  userId: user.id,
  emailVerified: user.emailVerifiedAt !== null,
});
