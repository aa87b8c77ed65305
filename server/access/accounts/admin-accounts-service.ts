/** Accounts as staff see and verify them. */
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { AdminAccountsService } from '@svc/proto/gen/svc/account/v1/account_pb.ts';
import { implement } from '@svc/proto/http/implement.ts';
import type { Handlers } from '@svc/proto/http/implement.ts';
import { PLATFORM_CHAIN, recordAct } from '../../platform/ledger/index.ts';
import type { Ctx } from '../../platform/context.ts';
import { notFound } from '../../platform/not-found.ts';
import { createClaim } from './claims.ts';
import { findUserByEmail, findUserById, setEmailVerified } from './store.ts';
import type { User } from './store.ts';

export function createAdminAccounts(): Handlers<Ctx> {
  return implement(AdminAccountsService, {
    find: async ({ email }, ctx: Ctx) => present(await findUserByEmail(ctx.db, email)),
    verifyEmail: async ({ userId }, ctx: Ctx) => {
      await ctx.db.transact(async (db) => {
        if (!(await setEmailVerified(db, userId, ctx.clock.now()))) return;
        await recordAct(db, ctx, {
          chain: PLATFORM_CHAIN,
          action: 'account.email_verified',
          target: userId,
          details: { email: (await findUserById(db, userId))?.email ?? '' },
        });
      });
      return present(await findUserById(ctx.db, userId));
    },
    createClaim: async ({ email }, ctx: Ctx) => {
      const { token, expiresAt } = await createClaim(ctx, email);
      return { token, expiresAt: timestampFromDate(expiresAt) };
    },
  });
}

function present(user: User | undefined) {
  if (user === undefined) throw notFound('account');
  const { id, email, username, staff, emailVerifiedAt, createdAt } = user;
  return {
    userId: id,
    email,
    username,
    staff,
    emailVerified: emailVerifiedAt !== null,
    ...(emailVerifiedAt === null ? {} : { emailVerifiedAt: timestampFromDate(emailVerifiedAt) }),
    createdAt: timestampFromDate(createdAt),
  };
}
