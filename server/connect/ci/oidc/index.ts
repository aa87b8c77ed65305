/** id_tokens of CI systems in place of a stored key. */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { CiService } from '@svc/proto/gen/svc/ci/v1/ci_pb.ts';
import type { Implementation } from '@svc/proto/http/implement.ts';
import { recordAct } from '../../../kit/ledger/index.ts';
import type { Clock } from '../../../base/clock.ts';
import type { Ctx } from '../../../kit/context.ts';
import type { Database } from '../../../base/db/index.ts';
import { notFound } from '../../../kit/not-found.ts';
import { createSafeFetch } from '../../../base/safe-fetch.ts';
import { act, connectionOf, presentConnection } from '../connections.ts';
import { readConnection } from '../connections-system.ts';
import type { Connection } from '../model/connection.ts';
import { refuseWhenPaused } from '../reports.ts';
import { admitJob, useUp } from './bind.ts';
import { callerOfIdToken } from './caller.ts';
import type { Issuer } from './issuers.ts';
import { createIssuerKeys } from './keys.ts';
import { deleteJobTokens, insertJobToken } from './store.ts';
import { createVerifier } from './verify.ts';
import type { VerifyIdToken } from './verify.ts';

export { bindCiJob } from './bind.ts';
export { createCiJobs, isCiJob } from './caller.ts';
export type { CiJobCaller } from './caller.ts';
export { purgeIdTokens } from './store.ts';
export type { VerifyIdToken } from './verify.ts';

/** Life of the token that an id_token is exchanged for; it is never longer than that of the id_token itself. */
const TOKEN_LIFE_MS = 60 * 60_000;

export interface OidcDeps {
  readonly clock: Clock;
  readonly verifyIdToken: VerifyIdToken;
}

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

export function oidcMethods({
  clock,
  verifyIdToken,
}: OidcDeps): Pick<Implementation<typeof CiService, Ctx>, 'exchangeIdToken' | 'resetOidcPin'> {
  return {
    exchangeIdToken: async ({ ciConnectionId, idToken }, ctx) => {
      const verified = await verifyIdToken(idToken);
      const caller = callerOfIdToken(verified);
      const now = clock.now();
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
      const before = await connectionOf(ctx, connectionId);
      if (before.oidcIssuer === null) return presentConnection(before);
      const after: Connection = { ...before, ...NO_PIN, updatedAt: clock.now() };
      await ctx.db.transact(async (db) => {
        await storeNoPin(db, after);
        await deleteJobTokens(db, connectionId);
        const { oidcIssuer: issuer, oidcRepositoryId: repositoryId, oidcOwnerId: ownerId } = before;
        await recordAct(
          db,
          ctx,
          act('ci_connection.oidc_pin_reset', after, { issuer, repositoryId, ownerId }),
        );
      });
      return presentConnection(after);
    },
  };
}

const NO_PIN = {
  oidcIssuer: null,
  oidcRepositoryId: null,
  oidcOwnerId: null,
  oidcPinnedAt: null,
  oidcRepositoryPath: null,
};

async function storeNoPin({ sql }: Database, { id, teamId, updatedAt }: Connection): Promise<void> {
  const { count } = await sql`
    update ci_connections set oidc_issuer = null, oidc_repository_id = null, oidc_owner_id = null, oidc_pinned_at = null,
      oidc_repository_path = null, updated_at = ${updatedAt}
    where id = ${id} and team_id = ${teamId}`;
  if (count !== 1) throw notFound('CI connection');
}
