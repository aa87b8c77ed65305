/** Accounts as staff see and verify them. */
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { AccountDetailsSchema, AdminAccountsService } from '@svc/proto/gen/svc/account/v1/account_pb.ts';
import type { AccountDetails } from '@svc/proto/gen/svc/account/v1/account_pb.ts';
import { implement } from '@svc/proto/http/implement.ts';
import type { Handlers } from '@svc/proto/http/implement.ts';
import type { Ctx } from '../../kit/context.ts';
import { notFound } from '../../kit/not-found.ts';
import { change, shown } from '../../kit/resource/index.ts';
import { createClaim } from './claims.ts';
import { findUserByEmail, findUserById, setEmailVerified } from './store.ts';
import type { User } from './store.ts';

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
  return shown(AccountDetailsSchema, {
    ...user,
    userId: user.id,
    emailVerified: user.emailVerifiedAt !== null,
  });
}
