/** This file reads what the ledger of credit says now. */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { Ctx } from '../../kit/context.ts';
import type { Database, SqlTag } from '../../base/db/index.ts';
import type { Fragment } from '../../base/sql.ts';
import { lockCredit, type CreditKind } from './post.ts';

/** This returns the balance of the last entry, in minor units. */
export async function balanceOf(sql: SqlTag, teamId: string): Promise<number> {
  return await lastOf(sql, teamId, 'available');
}

async function lastOf(sql: SqlTag, teamId: string, account: 'available' | 'disputed'): Promise<number> {
  const [row] = await sql<Array<{ balance: number }>>`
    select balance from credit_entries where team_id = ${teamId} and account = ${account} order by seq desc limit 1`;
  return row?.balance ?? 0;
}

/** Credit that came at once, bought or granted. */
export interface Block {
  readonly id: string;
  readonly kind: 'purchase' | 'grant';
  readonly remainingCents: number;
  readonly expiresAt: Date | null;
  readonly createdAt: Date;
}

/** Returns the expression for what is left of the block `b`. */
export function restOf(sql: SqlTag): Fragment {
  return sql`b.cents - coalesce((
    select sum(case when m."from" = 'available' then m.cents when m."to" = 'available' then -m.cents else 0 end)
    from credit_transfers m where m.block_id = b.id
  ), 0)::bigint`;
}

/** Minor units that are left of one. */
export async function leftOf(sql: SqlTag, blockId: string): Promise<number> {
  const [row] = await sql<Array<{ rest: number }>>`
    select ${restOf(sql)} as rest from credit_transfers b where b.id = ${blockId}`;
  return row?.rest ?? 0;
}

/**
 * Blocks with something left, in the order in which they are used. What is left of all of them is the
 * balance, so that the walk from the newest one backwards ends where that is found: what it reads does not
 * grow with the history.
 */
export async function blocksOf(sql: SqlTag, teamId: string): Promise<Block[]> {
  return await sql<Block[]>`
    with recursive held as materialized (
      select balance from credit_entries where team_id = ${teamId} and account = 'available' order by seq desc limit 1
    ),
    walk (id, kind, expires_at, created_at, rest, found) as (
      select 'crt~'::text, ''::text, null::timestamptz, 'infinity'::timestamptz, 0::bigint, 0::bigint
      union all
      select n.id, n.kind, n.expires_at, n.created_at, n.rest, w.found + n.rest
      from walk w cross join held h cross join lateral (
        select b.id, b.kind, b.expires_at, b.created_at, ${restOf(sql)} as rest from credit_transfers b
        where b.team_id = ${teamId} and b."to" = 'available' and b.kind in ('purchase', 'grant') and (b.created_at, b.id) < (w.created_at, w.id)
        order by b.created_at desc, b.id desc limit 1
      ) n
      where w.found < h.balance
    )
    select id, kind, rest as "remainingCents", expires_at as "expiresAt", created_at as "createdAt"
    from walk where rest > 0
    order by expires_at nulls last, kind = 'purchase', created_at, id`;
}

/** Minor units of bought credit that are left, with what is held back by a dispute. */
export async function boughtLeft(sql: SqlTag, teamId: string): Promise<number> {
  const bought = (await blocksOf(sql, teamId)).filter(({ kind }) => kind === 'purchase');
  const held = await lastOf(sql, teamId, 'disputed');
  return bought.reduce((sum, { remainingCents }) => sum + remainingCents, held);
}

/**
 * Bought credit of a team that is about to go: a purchase waits until the transaction has ended, and finds
 * then that the team is gone.
 */
export async function boughtLeftLocked(tx: Database, teamId: string): Promise<number> {
  await lockCredit(tx, teamId);
  return await boughtLeft(tx.sql, teamId);
}

export interface Draw {
  readonly blockId: string;
  readonly kind: Block['kind'];
  readonly cents: number;
}

/** Returns what a statement took, by block. */
export async function drawsOf(
  sql: SqlTag,
  { teamId, source }: { readonly teamId: string; readonly source: string },
): Promise<Draw[]> {
  return await sql<Draw[]>`
    select u.block_id as "blockId", b.kind, u.cents from credit_transfers u join credit_transfers b on b.id = u.block_id
    where u.team_id = ${teamId} and u.kind = 'usage' and starts_with(u.source, ${source} || ' ')
    order by (select e.seq from credit_entries e where e.transfer_id = u.id and e.account = 'available')`;
}

/** A change of the credit. */
export interface LedgerEntry {
  readonly seq: number;
  readonly id: string;
  readonly kind: CreditKind;
  readonly amountCents: number;
  readonly balanceCents: number;
  readonly source: string;
  readonly reason: string | null;
  readonly expiresAt: Date | null;
  readonly createdAt: Date;
}

/** This returns the entries before one, newest first. */
export async function ledgerOf(
  { db, teams }: Pick<Ctx, 'db' | 'teams'>,
  { teamId, before, take }: { readonly teamId: string; readonly before: number; readonly take: number },
): Promise<LedgerEntry[]> {
  return await db.sql<LedgerEntry[]>`
    select e.seq, t.id, t.kind, e.cents as "amountCents", e.balance as "balanceCents", t.source, t.reason, t.expires_at as "expiresAt", t.created_at as "createdAt"
    from credit_entries e join credit_transfers t on t.id = e.transfer_id
    where e.team_id = ${teamId} and e.team_id = any(${teams.teamIds}::text[]) and e.account = 'available' and e.seq < ${before}
    order by e.seq desc limit ${take}`;
}
