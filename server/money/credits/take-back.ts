/**
 * Refunds and disputes of what was bought. They take back what is left of the purchase. What was used already
 * is taken from `consumed`, which may go below nothing: so much of what credit had paid is not paid any more.
 * That is the team's shortfall, until a statement puts it on (a transfer from `bought` to `consumed`: it is
 * bought again, and used). Neither of these two touches the credit, so that no list of it shows them.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { Database, SqlTag } from '../../base/db/index.ts';
import { record, tellIfLow, type FromProvider } from './acts.ts';
import { leftOf } from './blocks.ts';
import { lockCredit, postLocked } from './post.ts';
import { take } from './use.ts';

interface Bought {
  readonly id: string;
  readonly teamId: string;
  readonly cents: number;
}

async function purchaseOf(sql: SqlTag, source: string): Promise<Bought | undefined> {
  const [row] = await sql<Bought[]>`
    select id, team_id as "teamId", cents from credit_transfers where kind = 'purchase' and source = ${source}`;
  return row;
}

export interface TakenBack {
  /** Cents that were taken from what was left of the purchase. */
  readonly takenCents: number;
  /** Beyond that: it comes to the team's next statement. */
  readonly shortfallCents: number;
}

const NOTHING: TakenBack = { takenCents: 0, shortfallCents: 0 };

interface Back {
  readonly block: Bought;
  readonly kind: 'refund' | 'dispute_lost';
  readonly source: string;
  readonly cents: number;
  readonly at: Date;
}

/** Under the lock. */
async function takeBack(tx: Database, { block, kind, source, cents, at }: Back): Promise<TakenBack> {
  const { id: blockId, teamId } = block;
  if (cents <= 0) return NOTHING;
  const takenCents = Math.min(cents, await leftOf(tx.sql, blockId));
  const shortfallCents = cents - takenCents;
  const both = { teamId, kind, to: 'refunded', blockId, at } as const;
  if (takenCents > 0) await take(tx, { ...both, source, cents: takenCents });
  if (shortfallCents > 0)
    await postLocked(tx, { ...both, from: 'consumed', source: `${source} beyond`, cents: shortfallCents });
  return { takenCents, shortfallCents };
}

export interface Refund extends FromProvider {
  /** Source of the purchase. */
  readonly purchase: string;
  /**
   * Given back of it so far, all refunds together: of two that come in the wrong order the lesser one changes
   * nothing.
   */
  readonly totalCents: number;
}

/** Returns undefined when no such purchase is known (yet). */
export async function refund(
  db: Database,
  { purchase, totalCents, at, eventId }: Refund,
): Promise<TakenBack | undefined> {
  return await db.transact(async (tx) => {
    const block = await purchaseOf(tx.sql, purchase);
    if (block === undefined) return undefined;
    const { id, teamId } = block;
    await lockCredit(tx, teamId);
    const [row] = await tx.sql<Array<{ cents: number }>>`
      select coalesce(sum(cents), 0)::bigint as cents from credit_transfers where block_id = ${id} and kind = 'refund'`;
    const cents = Math.min(totalCents, block.cents) - (row?.cents ?? 0);
    if (cents <= 0) return NOTHING;
    const source = `${purchase} ${totalCents}`;
    const taken = await takeBack(tx, { block, kind: 'refund', source, cents, at });
    const details = { amountCents: cents, ...taken, source: purchase, eventId };
    await record(tx, { teamId, action: 'credit.refunded', target: id, details, at });
    return taken;
  });
}

export interface Dispute extends FromProvider {
  /** Source of the purchase. */
  readonly purchase: string;
  /** Id of the dispute at the provider. */
  readonly dispute: string;
  /** Disputed of it. */
  readonly cents: number;
}

interface DisputeStanding {
  /** Held back so far. */
  readonly heldCents: number;
  readonly hasEnded: boolean;
}

/** Acts on the purchase under the lock, by what the ledger knows of the dispute. */
async function onDispute<T>(
  db: Database,
  { purchase, dispute }: Pick<Dispute, 'purchase' | 'dispute'>,
  act: (tx: Database, block: Bought, held: DisputeStanding) => Promise<T>,
): Promise<T | undefined> {
  return await db.transact(async (tx) => {
    const block = await purchaseOf(tx.sql, purchase);
    if (block === undefined) return undefined;
    await lockCredit(tx, block.teamId);
    const [held] = await tx.sql<DisputeStanding[]>`
      select coalesce(sum(cents) filter (where kind = 'dispute'), 0)::bigint as "heldCents", count(*) filter (where kind <> 'dispute') > 0 as "hasEnded"
      from credit_transfers where block_id = ${block.id} and kind in ('dispute', 'dispute_won', 'dispute_lost')
        and (source = ${dispute} or starts_with(source, ${dispute} || ' '))`;
    return await act(tx, block, held ?? { heldCents: 0, hasEnded: false });
  });
}

/** Holds back what is left of the purchase. False: no such purchase is known (yet). */
export async function disputeOpened(db: Database, opened: Dispute): Promise<boolean> {
  const isKnown = await onDispute(
    db,
    opened,
    async (tx, { id: blockId, teamId }, { heldCents, hasEnded }) => {
      if (heldCents > 0 || hasEnded) return true;
      const { dispute: source, cents: disputedCents, at, eventId } = opened;
      const cents = Math.min(disputedCents, await leftOf(tx.sql, blockId));
      if (cents <= 0) return true;
      await take(tx, { teamId, kind: 'dispute', to: 'disputed', source, cents, blockId, at });
      await tellIfLow(tx, { teamId, at });
      const details = { state: 'opened', amountCents: cents, disputedCents, source, eventId };
      await record(tx, { teamId, action: 'credit.disputed', target: blockId, details, at });
      return true;
    },
  );
  return isKnown ?? false;
}

/** Gives back what was held. False: no such purchase is known (yet). */
export async function disputeWon(db: Database, won: Omit<Dispute, 'cents'>): Promise<boolean> {
  const isKnown = await onDispute(
    db,
    won,
    async (tx, { id: blockId, teamId }, { heldCents: cents, hasEnded }) => {
      if (cents === 0 || hasEnded) return true;
      const { dispute: source, at, eventId } = won;
      const move = { from: 'disputed', to: 'available', cents, blockId, at } as const;
      await postLocked(tx, { teamId, kind: 'dispute_won', source, ...move });
      const details = { state: 'won', amountCents: cents, source, eventId };
      await record(tx, { teamId, action: 'credit.disputed', target: blockId, details, at });
      return true;
    },
  );
  return isKnown ?? false;
}

/**
 * What was held is gone, and what was not comes to the next statement. It may be the first that is heard of
 * the dispute. Undefined: no such purchase is known (yet).
 */
export async function disputeLost(db: Database, lost: Dispute): Promise<TakenBack | undefined> {
  return await onDispute(db, lost, async (tx, block, { heldCents, hasEnded }) => {
    if (hasEnded) return NOTHING;
    const { id: blockId, teamId } = block;
    const { dispute: source, at, eventId } = lost;
    const kind = 'dispute_lost';
    if (heldCents > 0) {
      const move = { from: 'disputed', to: 'refunded', cents: heldCents, blockId, at } as const;
      await postLocked(tx, { teamId, kind, source, ...move });
    }
    const cents = Math.min(lost.cents, block.cents) - heldCents;
    const more = await takeBack(tx, { block, kind, source: `${source} rest`, cents, at });
    const taken = { ...more, takenCents: more.takenCents + heldCents };
    const details = { state: 'lost', amountCents: lost.cents, ...taken, source, eventId };
    await record(tx, { teamId, action: 'credit.disputed', target: blockId, details, at });
    return taken;
  });
}
