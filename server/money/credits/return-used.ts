/** Credit of a statement that is not owed any more: each block has back what the statement took of it. */
import type { Database } from '../../base/db/index.ts';
import { record, type FromProvider } from './acts.ts';
import { balanceOf, drawsOf } from './blocks.ts';
import { lockCredit, postLocked } from './post.ts';

export interface Returned extends FromProvider {
  readonly teamId: string;
  readonly statementId: string;
}

/**
 * This returns the credit of a statement, once. What came of a grant whose end has passed ends again within a
 * minute. Returns the minor units.
 */
export async function returnUsed(
  db: Database,
  { teamId, statementId, at, eventId }: Returned,
): Promise<number> {
  return await db.transact(async (tx) => {
    await lockCredit(tx, teamId);
    let returned = 0;
    for (const { blockId, cents } of await drawsOf(tx.sql, { teamId, source: statementId })) {
      const move = { from: 'consumed', to: 'available', cents, blockId, at } as const;
      const source = `${statementId} ${blockId}`;
      const { outcome } = await postLocked(tx, { teamId, kind: 'usage_returned', source, ...move });
      if (outcome === 'posted') returned += cents;
    }
    if (returned === 0) return 0;
    const details = { amountCents: returned, balanceCents: await balanceOf(tx.sql, teamId), eventId };
    await record(tx, { teamId, action: 'credit.returned', target: statementId, details, at });
    return returned;
  });
}
