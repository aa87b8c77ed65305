/**
 * What was paid for a statement and went back since, by a refund or by a lost dispute. No credit changes: the
 * transfer says that so much of what was used is paid no more. Whoever gave it back meant it so, and whoever
 * disputed it is not asked again: it comes to no statement.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { Database, SqlTag } from '../../base/db/index.ts';
import { record, type FromProvider } from './acts.ts';
import { lockCredit, postLocked } from './post.ts';

export interface PaidBack extends FromProvider {
  readonly teamId: string;
  readonly statementId: string;
  readonly kind: 'statement_refund' | 'statement_dispute_lost';
  /** Charge or dispute at the provider. */
  readonly of: string;
  /** Given back of it so far: of two that come in the wrong order the lesser one changes nothing. */
  readonly totalCents: number;
}

/** Returns the minor units that are new. */
export async function statementPaidBack(
  db: Database,
  { teamId, statementId, kind, of, totalCents, at, eventId }: PaidBack,
): Promise<number> {
  return await db.transact(async (tx) => {
    await lockCredit(tx, teamId);
    const [row] = await tx.sql<Array<{ cents: number }>>`
      select coalesce(sum(cents), 0)::bigint as cents from credit_transfers
      where team_id = ${teamId} and kind = ${kind} and starts_with(source, ${`${statementId} ${of} `})`;
    const cents = totalCents - (row?.cents ?? 0);
    if (cents <= 0) return 0;
    const move = { from: 'consumed', to: 'refunded', cents, at } as const;
    const source = `${statementId} ${of} ${totalCents}`;
    await postLocked(tx, { teamId, kind, source, ...move });
    const action = kind === 'statement_refund' ? 'statement.refunded' : 'statement.dispute_lost';
    const details = { amountCents: cents, source: of, eventId };
    await record(tx, { teamId, action, target: statementId, details, at });
    return cents;
  });
}

/** This returns the minor units by statement; one of which nothing went back has no entry. */
export async function paidBackOf(sql: SqlTag, teamId: string): Promise<ReadonlyMap<string, number>> {
  const rows = await sql<Array<{ id: string; cents: number }>>`
    select split_part(source, ' ', 1) as id, sum(cents)::bigint as cents from credit_transfers
    where team_id = ${teamId} and kind in ('statement_refund', 'statement_dispute_lost') group by 1`;
  return new Map(rows.map(({ id, cents }) => [id, cents]));
}
