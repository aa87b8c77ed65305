/** Whose key it is: one statement for the keys that are asked for together. */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { AnswerInit, Ask } from '@svc/proto/dispatch/dispatch.ts';
import { inBatches } from '@svc/proto/process/batches.ts';
import type { SqlTag } from '../../base/db/index.ts';
import { batching } from './nonces.ts';

const ITEMS_MAX = 100;

interface Row {
  readonly id: string | null;
  readonly team_id: string;
  readonly public_key: Uint8Array;
  readonly revoked: boolean;
}

export function createKeys(sql: SqlTag): (ask: Ask<'resolveKey'>) => Promise<AnswerInit<'resolveKey'>> {
  const find = inBatches<string, Row>({
    ...batching,
    itemsMax: ITEMS_MAX,
    run: async (keyIds) =>
      await sql<Row[]>`
        select r.id, r.team_id, r.public_key, r.revoked_at is not null as revoked
        from unnest(${[...keyIds]}::text[]) with ordinality a(key_id, n) left join runners r on r.key_id = a.key_id
        order by a.n`,
  });
  return async ({ keyId }) => {
    const { id, team_id: teamId, public_key: publicKey, revoked } = await find(keyId);
    if (id === null) return { known: false };
    return { known: true, runnerId: id, teamId, publicKey: new Uint8Array(publicKey), revoked };
  };
}
