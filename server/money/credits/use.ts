/** This file takes credit: statements use it, and granted credit ends. */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import { startLoop, type Loop } from '../../base/loop.ts';
import type { Database, SqlTag } from '../../base/db/index.ts';
import type { System } from '../../kit/feature.ts';
import { payablePart } from '../amounts/index.ts';
import { record, tellIfLow } from './acts.ts';
import { balanceOf, blocksOf, drawsOf, leftOf, restOf, type Block } from './blocks.ts';
import { lockCredit, postLocked, type NewTransfer } from './post.ts';

export interface Use {
  readonly teamId: string;
  /** Minor units to pay, 0 or more. */
  readonly cents: number;
  readonly currency: string;
  /** Id of the statement. */
  readonly source: string;
  readonly at: Date;
}

/**
 * Minor units that credit pays of a statement, never more than there are. Of a statement that has used
 * credit: what it took then. Blocks whose end has come pay nothing. Call it before the audit entry of the
 * statement. Of each block it takes what can be paid: less than a step of the currency stays, so that what is
 * left to pay, and what may be given back of the block later, can be paid too.
 */
export async function useCredit(db: Database, { teamId, cents, currency, source, at }: Use): Promise<number> {
  if (!Number.isSafeInteger(cents) || cents < 0)
    throw new Error(
      `credit of ${teamId}: ${source} asks for ${cents} minor units, expected a whole number from 0`,
    );
  return await db.transact(async (tx) => {
    await lockCredit(tx, teamId);
    const before = await drawsOf(tx.sql, { teamId, source });
    if (before.length > 0) return before.reduce((sum, draw) => sum + draw.cents, 0);
    const blocks = (await blocksOf(tx.sql, teamId)).filter((block) => isGood(block, at));
    let left = cents;
    for (const { id, remainingCents } of blocks) {
      if (left === 0) break;
      const part = payablePart(Math.min(left, remainingCents), currency);
      if (part === 0) continue;
      await take(tx, {
        teamId,
        kind: 'usage',
        to: 'consumed',
        source: `${source} ${id}`,
        cents: part,
        blockId: id,
        at,
      });
      left -= part;
    }
    const taken = cents - left;
    if (taken === 0) return 0;
    await tellIfLow(tx, { teamId, at });
    const details = { amountCents: taken, balanceCents: await balanceOf(tx.sql, teamId) };
    await record(tx, { teamId, action: 'credit.used', target: source, details, at });
    return taken;
  });
}

const isGood = ({ expiresAt }: Block, at: Date) => expiresAt === null || expiresAt > at;

/** This takes from what is there, under the lock, so that a refusal is a mistake of the program. */
export async function take(tx: Database, transfer: Omit<NewTransfer, 'from'>): Promise<void> {
  const { outcome } = await postLocked(tx, { ...transfer, from: 'available' });
  if (outcome !== 'posted')
    throw new Error(
      `credit of ${transfer.teamId}: ${transfer.kind} of ${transfer.cents} by ${transfer.source} was ${outcome}`,
    );
}

const EXPIRED_MAX = 100;

/**
 * What is left of granted credit whose end has come. Any number of workers may do it at once. True: there is
 * more.
 */
export async function expireCredit(db: Database, at: Date): Promise<boolean> {
  const { sql } = db;
  const due = await sql<Array<{ id: string; teamId: string }>>`
    select b.id, b.team_id as "teamId" from credit_transfers b
    where b.kind = 'grant' and b.expires_at <= ${at} and ${restOf(sql)} > 0 order by b.expires_at, b.id limit ${EXPIRED_MAX}`;
  const failed: unknown[] = [];
  // One that fails keeps no other one back.
  for (const block of due)
    await db.transact(async (tx) => await expire(tx, { ...block, at })).catch((error) => failed.push(error));
  if (failed.length > 0)
    throw new AggregateError(failed, `${failed.length} of ${due.length} grants of credit did not end`);
  return due.length === EXPIRED_MAX;
}

async function expire(
  tx: Database,
  { id, teamId, at }: { readonly id: string; readonly teamId: string; readonly at: Date },
): Promise<void> {
  await lockCredit(tx, teamId);
  const cents = await leftOf(tx.sql, id);
  if (cents === 0) return; // Another worker was faster, or a statement.
  const source = await expirySource(tx.sql, id);
  await take(tx, { teamId, kind: 'expiry', to: 'expired', source, cents, blockId: id, at });
  await tellIfLow(tx, { teamId, at });
  await record(tx, { teamId, action: 'credit.expired', target: id, details: { amountCents: cents }, at });
}

/** A grant that has ended ends again when a voided statement gave something back to it. */
async function expirySource(sql: SqlTag, id: string): Promise<string> {
  const [row] = await sql<Array<{ count: number }>>`
    select count(*)::int as count from credit_transfers where block_id = ${id} and kind = 'expiry'`;
  return row === undefined || row.count === 0 ? id : `${id} ${row.count + 1}`;
}

const EXPIRY_MS = 60_000;

export function startExpiry({ db, clock, onError }: Pick<System, 'db' | 'clock' | 'onError'>): Loop {
  return startLoop({ everyMs: EXPIRY_MS, run: async () => await expireCredit(db, clock.now()), onError });
}
