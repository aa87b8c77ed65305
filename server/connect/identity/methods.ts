/** id_tokens of CI systems in place of a stored key. */
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { CiService } from '@svc/proto/gen/svc/ci/v1/ci_pb.ts';
import { implementPart, type Handlers } from '@svc/proto/http/implement.ts';
import type { Clock } from '../../base/clock.ts';
import type { Ctx } from '../../kit/context.ts';
import { notFound } from '../../kit/not-found.ts';
import { createSafeFetch } from '../../base/safe-fetch.ts';
import { change } from '../../kit/resource/index.ts';
import {
  connectionRows,
  detailsOf,
  readConnection,
  refuseWhenPaused,
  shownConnection,
  type Connection,
} from '../connections/index.ts';
import { admitJob, useUp } from './bind.ts';
import { callerOfIdToken } from './caller.ts';
import type { Issuer } from './issuers.ts';
import { createIssuerKeys } from './keys.ts';
import { deleteJobTokens, insertJobToken } from './store.ts';
import { createVerifier, type VerifyIdToken } from './verify.ts';

/**
 * Life of the token that an id_token is exchanged for; it is never longer than that of the id_token itself.
 */
const TOKEN_LIFE_MS = 60 * 60_000;

export function createVerifyIdToken(deps: {
  readonly clock: Clock;
  readonly issuers: readonly Issuer[];
  /** See Config.webhooksAllowPrivate. */
  readonly allowPrivate: boolean;
  audience(): string;
  onError(error: unknown): void;
}): VerifyIdToken {
  const fetch = createSafeFetch({ allowPrivate: deps.allowPrivate });
  return createVerifier({ ...deps, keys: createIssuerKeys({ ...deps, fetch }) });
}

export function createIdTokens(verifyIdToken: VerifyIdToken): Handlers<Ctx> {
  return implementPart(CiService, {
    exchangeIdToken: async ({ ciConnectionId, idToken }, ctx) => {
      const verified = await verifyIdToken(idToken);
      const caller = callerOfIdToken(verified);
      const now = ctx.clock.now();
      const endMs = Math.min(verified.expiresAt.getTime(), now.getTime() + TOKEN_LIFE_MS);
      const expiresAt = new Date(Math.max(endMs, now.getTime()));
      const { job } = verified;
      const token = await ctx.db.transact(async (db) => {
        const connection = await readConnection(db, ciConnectionId);
        if (connection === undefined) throw notFound('CI connection');
        await admitJob(db, { ...ctx, caller }, connection);
        refuseWhenPaused(connection);
        await useUp(db, caller);
        return await insertJobToken(db, connection, { job, expiresAt, now });
      });
      return {
        token,
        expiresAt: timestampFromDate(expiresAt),
        externalRunId: job.runId,
        externalAttempt: job.attempt,
      };
    },
    resetOidcPin: async ({ connectionId }, ctx) => {
      const before = await connectionRows.find(ctx, connectionId);
      const { oidcIssuer: issuer, oidcRepositoryId: repositoryId, oidcOwnerId: ownerId } = before;
      if (issuer === null) return shownConnection(before);
      const details = (after: Connection) => ({ ...detailsOf(after), issuer, repositoryId, ownerId });
      const after = await change(ctx, { action: 'ci_connection.oidc_pin_reset', details }, async (tx) => {
        const set = { ...NO_PIN, updatedAt: ctx.clock.now() };
        const unpinned = await connectionRows.update(tx, connectionId, { set });
        if (unpinned === undefined) throw notFound('CI connection');
        await deleteJobTokens(tx.db, connectionId);
        return unpinned;
      });
      return shownConnection(after);
    },
  });
}

const NO_PIN = {
  oidcIssuer: null,
  oidcRepositoryId: null,
  oidcOwnerId: null,
  oidcPinnedAt: null,
  oidcRepositoryPath: null,
};
