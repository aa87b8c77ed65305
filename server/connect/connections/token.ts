/**
 * Tokens of repositories' hosts are sealed with the row that they are for, opened for one call, and never
 * shown.
 */
import { implementPart, type Handlers } from '@svc/proto/http/implement.ts';
import { CiService, ForgeSchema } from '@svc/proto/gen/svc/ci/v1/ci_pb.ts';
import { urlProblem } from '../../base/safe-fetch.ts';
import type { Secrets } from '../../base/secrets.ts';
import type { Ctx } from '../../kit/context.ts';
import { notFound } from '../../kit/not-found.ts';
import { change, enumWord } from '../../kit/resource/index.ts';
import { wrongField } from '../../kit/wrong-field.ts';
import { forgeOf, sealToken, type ForgeId } from '../providers/index.ts';
import { connectionRows, type Connection } from './rows.ts';
import { detailsOf, shownConnection } from './shown.ts';
import { startSubscription } from './webhook/store.ts';

export interface TokenDeps {
  readonly secrets: Secrets;
  /** See Config.webhooksAllowPrivate. */
  readonly allowPrivate: boolean;
}

export function createTokens({ secrets, allowPrivate }: TokenDeps): Handlers<Ctx> {
  return implementPart(CiService, {
    setConnectionToken: async ({ connectionId, token, forge, apiUrl }, ctx) => {
      const before = await connectionRows.find(ctx, connectionId);
      const problem = apiUrl === undefined ? undefined : urlProblem(apiUrl, allowPrivate);
      if (problem !== undefined)
        throw wrongField(`apiUrl is "${apiUrl}": ${problem}`, { field: 'apiUrl', rule: 'address' });
      const wanted = {
        token: sealToken(secrets, connectionId, token),
        // A field that is not named goes back to its default: a new token is never sent to an address that
        // came with an older one.
        forge: forge === undefined ? null : (enumWord(ForgeSchema, forge) as ForgeId),
        apiUrl: apiUrl ?? null,
      };
      if (forgeOf({ ...before, ...wanted }) === undefined)
        throw wrongField(
          `what ${before.repositoryHost} is cannot be told from its name; name its kind: github, gitlab, bitbucket or azure`,
          { field: 'forge', rule: 'required' },
        );
      const details = (after: Connection) => ({
        ...detailsOf(after),
        forge: forgeOf(after),
        apiUrl: after.apiUrl,
      });
      const after = await change(ctx, { action: 'ci_connection.token_set', details }, async (tx) => {
        const stored = await storeToken(tx, connectionId, wanted);
        await startSubscription(tx.db, stored, { secrets, now: ctx.clock.now() });
        return stored;
      });
      return shownConnection(after);
    },
    deleteConnectionToken: async ({ connectionId }, ctx) => {
      const { token, forge, apiUrl } = await connectionRows.find(ctx, connectionId);
      if (token === null) return {};
      await change(
        ctx,
        { action: 'ci_connection.token_deleted', details: detailsOf },
        async (tx) => await storeToken(tx, connectionId, { token: null, forge, apiUrl }),
      );
      return {};
    },
  });
}

/** Work that was refused with the token before is tried again. */
async function storeToken(
  tx: Ctx,
  id: string,
  token: Pick<Connection, 'token' | 'forge' | 'apiUrl'>,
): Promise<Connection> {
  const refusals = { commitStatusDetail: null, commitStatusStopped: false, quietUntil: null };
  const set = { ...token, ...refusals, updatedAt: tx.clock.now() };
  const stored = await connectionRows.update(tx, id, { set });
  if (stored === undefined) throw notFound('CI connection');
  return stored;
}
