/** This file adds credit: it is bought, or granted by those who run the installation. */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import { apiError, type ApiError } from '@svc/proto/http/errors.ts';
import { findTeam } from '../../access/teams/index.ts';
import type { Ctx } from '../../kit/context.ts';
import type { Database, SqlTag } from '../../base/db/index.ts';
import { newId } from '../../base/ids.ts';
import { recordAct } from '../../kit/ledger/index.ts';
import { notFound } from '../../kit/not-found.ts';
import { change } from '../../kit/resource/index.ts';
import { wrongField } from '../../kit/wrong-field.ts';
import { moneyOf } from '../amounts/index.ts';
import { record, type FromProvider } from './acts.ts';
import { restOf, type LedgerEntry } from './blocks.ts';
import { assertAmount, assertPayable, lockCredit, post, postLocked, type Transfer } from './post.ts';

export interface Purchase extends FromProvider {
  readonly teamId: string;
  readonly cents: number;
  /** Id of the provider's session that was paid. */
  readonly source: string;
}

export interface Purchased {
  readonly outcome: 'posted' | 'repeated';
  readonly transfer: Transfer;
  /** The team was deleted before the payment came: nobody can use this credit, and it has to be refunded. */
  readonly teamGone: boolean;
}

/** What was paid is always in the ledger, also of a team that is gone by now. */
export async function purchase(
  db: Database,
  { teamId, cents, source, at, eventId }: Purchase,
): Promise<Purchased> {
  return await db.transact(async (tx) => {
    const move = { from: 'bought', to: 'available' } as const;
    const posted = await post(tx, { teamId, kind: 'purchase', source, ...move, cents, at });
    if (posted.outcome === 'refused')
      throw new Error(`credit of ${teamId}: the purchase ${source} was refused`);
    const { outcome, transfer } = posted;
    const teamGone = (await findTeam(tx, teamId)) === undefined;
    if (outcome === 'posted') {
      const details = { amountCents: cents, source, eventId };
      await record(tx, { teamId, action: 'credit.purchased', target: transfer.id, details, at });
    }
    return { outcome, transfer, teamGone };
  });
}

export interface Grant {
  readonly teamId: string;
  readonly amountCents: number;
  readonly currency: string;
  readonly reason: string;
  readonly expiresAt?: Date | undefined;
}

/**
 * Grants credit, for staff. Throws `not_found`, and `validation_failed` for an amount that is not whole or
 * cannot be paid, or an end that is not ahead.
 */
export async function grant(
  ctx: Ctx,
  { teamId, amountCents, currency, reason, expiresAt }: Grant,
): Promise<Omit<LedgerEntry, 'seq'>> {
  assertAmount(amountCents);
  assertPayable(amountCents, currency);
  const at = ctx.clock.now();
  assertAhead(expiresAt, at);
  const id = newId('crt', at.getTime());
  const details = () => ({ amountCents, reason, expiresAt: expiresAt?.toISOString() ?? null });
  return await change(ctx, { action: 'credit.granted', on: { id, teamId }, details }, async ({ db }) => {
    await lockCredit(db, teamId);
    if ((await findTeam(db, teamId)) === undefined) throw notFound('team');
    const move = { from: 'granted', to: 'available', cents: amountCents } as const;
    const kind = 'grant' as const;
    const posted = await postLocked(db, { id, teamId, kind, source: id, ...move, reason, expiresAt, at });
    if (posted.outcome !== 'posted')
      throw new Error(`credit of ${teamId}: the grant ${id} was ${posted.outcome}`);
    const balanceCents = posted.transfer.balanceCents ?? 0;
    return {
      id,
      kind,
      amountCents,
      balanceCents,
      source: id,
      reason,
      expiresAt: expiresAt ?? null,
      createdAt: at,
    };
  });
}

export interface Revocation {
  readonly teamId: string;
  /** Id of the grant. */
  readonly grantId: string;
  readonly currency: string;
  readonly reason: string;
}

/**
 * Takes back what is left of a grant, for staff. A repeated call gets the first answer. Throws `not_found`,
 * and `state_conflict` when nothing is left.
 */
export async function revokeGrant(ctx: Ctx, revocation: Revocation): Promise<Omit<LedgerEntry, 'seq'>> {
  const { teamId, grantId, reason } = revocation;
  const at = ctx.clock.now();
  const kind = 'grant_revoked' as const;
  return await ctx.db.transact(async (db) => {
    await lockCredit(db, teamId);
    const known = await grantOf(db.sql, { teamId, grantId });
    if (known === undefined) throw notFound('grant');
    const cents = known.revokedCents ?? known.leftCents;
    if (cents === 0) throw nothingLeft(revocation, known.cents);
    const move = { from: 'available', to: 'granted', cents, blockId: grantId } as const;
    const posted = await postLocked(db, { teamId, kind, source: grantId, ...move, reason, at });
    if (posted.outcome === 'refused')
      throw new Error(`credit of ${teamId}: the revocation of ${grantId} was refused`);
    const { id, createdAt, balanceCents } = posted.transfer;
    if (posted.outcome === 'posted') {
      const details = { amountCents: cents, ofCents: known.cents, reason };
      await recordAct(db, ctx, { chain: teamId, action: 'credit.revoked', target: grantId, details });
    }
    const entry = { id, kind, amountCents: -cents, balanceCents: balanceCents ?? 0, source: grantId };
    return { ...entry, reason, expiresAt: null, createdAt };
  });
}

interface Granted {
  readonly cents: number;
  readonly leftCents: number;
  readonly revokedCents: number | null;
}

async function grantOf(sql: SqlTag, { teamId, grantId }: Pick<Revocation, 'teamId' | 'grantId'>) {
  const [row] = await sql<Granted[]>`
    select b.cents, ${restOf(sql)} as "leftCents", (select r.cents from credit_transfers r where r.kind = 'grant_revoked' and r.source = b.id) as "revokedCents"
    from credit_transfers b where b.id = ${grantId} and b.team_id = ${teamId} and b.kind = 'grant'`;
  return row;
}

function nothingLeft({ grantId, currency }: Revocation, cents: number): ApiError {
  const message = `nothing is left of the grant ${grantId} of ${moneyOf(cents, currency)}: what statements used, or what has ended, cannot be taken back`;
  return apiError('state_conflict', message, { details: { resource: 'grant', grantId } });
}

function assertAhead(expiresAt: Date | undefined, now: Date): void {
  if (expiresAt === undefined || expiresAt > now) return;
  const message = `expiresAt is ${expiresAt.toISOString()}, it must be later than now, ${now.toISOString()}`;
  throw wrongField(message, { field: 'expiresAt', rule: 'ahead' });
}
