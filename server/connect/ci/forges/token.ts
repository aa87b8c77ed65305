/** Tokens of repositories' hosts: sealed with the row that they are for, opened for one call, never shown. */
import type { Implementation } from '@svc/proto/http/implement.ts';
import type { CiService } from '@svc/proto/gen/svc/ci/v1/ci_pb.ts';
import { recordAct } from '../../../kit/ledger/index.ts';
import type { Ctx, TeamScope } from '../../../kit/context.ts';
import type { Database } from '../../../base/db/index.ts';
import { notFound } from '../../../kit/not-found.ts';
import { urlProblem } from '../../../base/safe-fetch.ts';
import type { Secrets } from '../../../base/secrets.ts';
import { act, connectionOf, presentConnection, refused } from '../connections.ts';
import type { Connection } from '../model/connection.ts';
import { startSubscription } from '../webhooks/index.ts';
import { forgeWord } from '../words.ts';
import { forgeOf } from './forge.ts';
import { sealToken } from './stored-token.ts';

export interface TokenDeps {
  readonly secrets: Secrets;
  /** See Config.webhooksAllowPrivate. */
  readonly allowPrivate: boolean;
}

export function tokenMethods({
  secrets,
  allowPrivate,
}: TokenDeps): Pick<Implementation<typeof CiService, Ctx>, 'setConnectionToken' | 'deleteConnectionToken'> {
  return {
    setConnectionToken: async ({ connectionId, token, forge, apiUrl }, ctx) => {
      const before = await connectionOf(ctx, connectionId);
      const problem = apiUrl === undefined ? undefined : urlProblem(apiUrl, allowPrivate);
      if (problem !== undefined) throw refused('apiUrl', 'address', `apiUrl is "${apiUrl}": ${problem}`);
      const after: Connection = {
        ...before,
        token: sealToken(secrets, connectionId, token),
        // A field that is not named goes back to its default: a new token is never sent to an address that came with an older one.
        forge: forge === undefined ? null : forgeWord(forge),
        apiUrl: apiUrl ?? null,
        commitStatusDetail: null,
        updatedAt: ctx.clock.now(),
      };
      if (forgeOf(after) === undefined)
        throw refused(
          'forge',
          'required',
          `what ${before.repositoryHost} is cannot be told from its name; name its kind: github, gitlab, bitbucket or azure`,
        );
      await ctx.db.transact(async (db) => {
        await storeToken(db, ctx.teams, after);
        await startSubscription(db, after, { secrets, now: ctx.clock.now() });
        await recordAct(
          db,
          ctx,
          act('ci_connection.token_set', after, { forge: forgeOf(after), apiUrl: after.apiUrl }),
        );
      });
      return presentConnection(after);
    },
    deleteConnectionToken: async ({ connectionId }, ctx) => {
      const before = await connectionOf(ctx, connectionId);
      if (before.token === null) return {};
      await ctx.db.transact(async (db) => {
        await storeToken(db, ctx.teams, { ...before, token: null, updatedAt: ctx.clock.now() });
        await recordAct(db, ctx, act('ci_connection.token_deleted', before));
      });
      return {};
    },
  };
}

async function storeToken({ sql }: Database, scope: TeamScope, c: Connection): Promise<void> {
  const { count } = await sql`
    update ci_connections set token = ${c.token}, forge = ${c.forge}, api_url = ${c.apiUrl}, commit_status_detail = null,
      commit_status_stopped = false, quiet_until = null, updated_at = ${c.updatedAt}
    where id = ${c.id} and team_id = any(${[...scope.teamIds]})`;
  if (count !== 1) throw notFound('CI connection');
}
