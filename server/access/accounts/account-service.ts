/** The calling person's own account. */
import { randomBytes } from 'node:crypto';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { apiError } from '@svc/proto/http/errors.ts';
import { implement } from '@svc/proto/http/implement.ts';
import type { Handlers } from '@svc/proto/http/implement.ts';
import { AccountService, CredentialKind } from '@svc/proto/gen/svc/account/v1/account_pb.ts';
import { PLATFORM_CHAIN, recordAct } from '../../platform/ledger/index.ts';
import type { Limits } from '../../config.ts';
import type { Caller, Ctx, Role } from '../../platform/context.ts';
import type { Database } from '../../platform/db/index.ts';
import { RoleSchema } from '@svc/proto/gen/svc/options/v1/options_pb.ts';
import { enumNumber } from '../../platform/resource/index.ts';
import type { AuthDeps } from './auth-service.ts';
import { useClaim } from './claims.ts';
import type { ClaimDeps } from './claims.ts';
import { checkPasswordStrength } from './password.ts';
import { assertInPerson } from './proof.ts';
import { endOtherSessions } from './sessions.ts';
import { findUserById, renewPasswordHash, setUsername } from './store.ts';
import type { User } from './store.ts';
import { acceptTotpCode, confirmTotp, findTotp, putPendingTotp, removeTotp } from './totp-store.ts';
import { base32, otpauthUrl } from './totp-code.ts';

export type AccountDeps = Pick<AuthDeps, 'secrets' | 'tries'> &
  ClaimDeps & {
    readonly limits: Limits;
  };

export function createAccountService(deps: AccountDeps): Handlers<Ctx> {
  const { clock, secrets, limits } = deps;
  return implement(AccountService, {
    whoami: async (_request, ctx: Ctx) => await describe(ctx),
    plan: async () => ({
      name: 'self_hosted',
      requestsPerMinute: limits.requestsPerMinute,
      apiKeysMax: limits.apiKeysMax,
      teamsMax: limits.teamsMax,
      runnersPerTeamMax: limits.runnersPerTeamMax,
      queuedRunsPerTeamMax: limits.queuedRunsPerTeamMax,
    }),
    updateUsername: async ({ username }, ctx: Ctx) => {
      await setUsername(ctx.db, ctx.caller.userId, username);
      return await describe(ctx);
    },
    totpStatus: async (_request, ctx: Ctx) => {
      const totp = await findTotp(ctx.db, ctx.caller.userId);
      const confirmedAt = totp?.confirmed_at ?? undefined;
      if (totp === undefined || confirmedAt === undefined) return { enrolled: false };
      return {
        enrolled: true,
        confirmedAt: timestampFromDate(confirmedAt),
        recoveryCodesLeft: totp.recovery_hashes.length,
      };
    },
    totpEnroll: async (_request, ctx: Ctx) => {
      const user = await ownAccount(ctx.db, ctx.caller);
      const bytes = randomBytes(20);
      if (!(await putPendingTotp({ db: ctx.db, clock, secrets }, user.id, bytes))) {
        throw apiError(
          'totp_already_enrolled',
          'the account asks for a one-time code already; turn it off first',
        );
      }
      const secret = base32(bytes);
      return { secret, otpauthUrl: otpauthUrl(secret, user.email) };
    },
    totpConfirm: async ({ code }, ctx: Ctx) => ({ recoveryCodes: [...(await confirm(deps, ctx, code))] }),
    totpDisable: async (proof, ctx: Ctx) => {
      await assertInPerson(deps, ctx, await ownAccount(ctx.db, ctx.caller), proof);
      await ctx.db.transact(async (db) => {
        if (await removeTotp(db, ctx.caller.userId))
          await recordAct(db, ctx, act(ctx, 'account.totp_disabled'));
      });
      return {};
    },
    claimEmail: async (request, ctx: Ctx) => {
      const { id, email } = await useClaim(deps, ctx, request);
      return { userId: id, email };
    },
    changePassword: async ({ currentPassword, newPassword }, ctx: Ctx) => {
      const user = await ownAccount(ctx.db, ctx.caller);
      await assertInPerson(deps, ctx, user, { currentPassword });
      checkPasswordStrength(newPassword, user);
      const hash = await deps.passwords.hash(newPassword); // before the transaction: it takes long
      await ctx.db.transact(async (db) => {
        if (!(await renewPasswordHash(db, user, hash)))
          throw apiError('credentials_invalid', 'the current password is wrong: it was changed meanwhile');
        await endOtherSessions(db, user.id, ctx.caller.credentialId);
        await deps.changes.announce(db, { userId: user.id });
        await recordAct(db, ctx, act(ctx, 'account.password_changed'));
      });
      return {};
    },
  });
}

async function confirm(deps: AccountDeps, ctx: Ctx, code: string): Promise<readonly string[]> {
  const { clock, secrets } = deps;
  deps.tries.code.spend(ctx.caller.userId, ctx.call.remoteAddress);
  return await ctx.db.transact(async (db) => {
    const totp = await findTotp(db, ctx.caller.userId);
    if (totp === undefined || totp.confirmed_at !== null) {
      throw apiError(
        'totp_not_pending',
        'no enrollment of a one-time code waits to be confirmed; begin one first',
      );
    }
    if (!(await acceptTotpCode({ db, clock, secrets }, ctx.caller.userId, totp, code))) {
      throw apiError(
        'totp_invalid',
        'one-time code is wrong, or the clock of the device is off by more than 30 s',
      );
    }
    deps.tries.code.wasRight(ctx.caller.userId, ctx.call.remoteAddress);
    const codes = await confirmTotp(db, ctx.caller.userId, clock.now());
    await recordAct(db, ctx, act(ctx, 'account.totp_enrolled'));
    return codes;
  });
}

/** Accounts belong to no team. */
function act({ caller }: Ctx, action: string) {
  return { chain: PLATFORM_CHAIN, action, target: caller.userId };
}

async function ownAccount(db: Database, caller: Caller): Promise<User> {
  const user = await findUserById(db, caller.userId);
  if (user === undefined)
    throw apiError('credentials_invalid', 'the account of this credential does not exist any more');
  return user;
}

async function describe({ db, caller }: Ctx) {
  const user = await ownAccount(db, caller);
  const teams = await db.sql<Array<{ id: string; name: string; role: Role }>>`
    select t.id, t.name, m.role from team_members m join teams t on t.id = m.team_id
    where m.user_id = ${caller.userId} and t.id = any(${[...caller.memberships.keys()]}) order by t.name, t.id`;
  return {
    userId: user.id,
    email: user.email,
    emailVerified: user.emailVerifiedAt !== null,
    username: user.username,
    staff: user.staff,
    credential: caller.kind === 'session' ? CredentialKind.SESSION : CredentialKind.API_KEY,
    scopes: [...caller.scopes].sort(),
    teams: teams.map((team) => ({
      teamId: team.id,
      name: team.name,
      role: enumNumber(RoleSchema, team.role),
    })),
  };
}
