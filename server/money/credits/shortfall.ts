/**
 * What refunds and lost disputes took beyond what was left of a purchase, until a statement puts it on.
 * take-back.ts says how it is remembered.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { Database, SqlTag } from '../../base/db/index.ts';
import { payablePart } from '../amounts/index.ts';
import { lockCredit, postLocked } from './post.ts';

/** Minor units that no statement has put on yet. */
export async function shortfallDue(sql: SqlTag, teamId: string): Promise<number> {
  const [row] = await sql<Array<{ cents: number }>>`
    select coalesce(sum(case when "from" = 'consumed' then cents when "from" = 'bought' then -cents else 0 end), 0)::bigint as cents
    from credit_transfers where team_id = ${teamId} and kind in ('refund', 'dispute_lost')`;
  return row?.cents ?? 0;
}

/** Lists teams with a shortfall, also those that used nothing, since they need a statement all the same. */
export async function teamsWithShortfall(sql: SqlTag): Promise<string[]> {
  const rows = await sql<Array<{ id: string }>>`
    select team_id as id from credit_transfers where kind in ('refund', 'dispute_lost') group by team_id
    having sum(case when "from" = 'consumed' then cents when "from" = 'bought' then -cents else 0 end) > 0 order by 1`;
  return rows.map(({ id }) => id);
}

export interface ShortfallOf {
  readonly teamId: string;
  readonly statementId: string;
  readonly currency: string;
  readonly at: Date;
}

/**
 * Puts the shortfall on a statement, in the transaction that makes it, and says its minor units: of each
 * shortfall to one statement, and to that one each time. Less than a step of the currency waits until there
 * is more.
 */
export async function shortfallOf(
  db: Database,
  { teamId, statementId, currency, at }: ShortfallOf,
): Promise<number> {
  return await db.transact(async (tx) => {
    await lockCredit(tx, teamId);
    const [known] = await tx.sql<Array<{ cents: number }>>`
      select cents from credit_transfers where kind = 'refund' and source = ${statementId} and team_id = ${teamId}`;
    if (known !== undefined) return known.cents;
    const cents = payablePart(await shortfallDue(tx.sql, teamId), currency);
    if (cents === 0) return 0;
    const move = { from: 'bought', to: 'consumed', cents } as const;
    await postLocked(tx, { teamId, kind: 'refund', source: statementId, ...move, at });
    return cents;
  });
}
