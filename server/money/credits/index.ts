/** Credit of teams: paid before, or granted. A ledger by double entry whose balance the database refuses to falsify. */
import type { Feature, System } from '../../platform/feature.ts';
import { startExpiry } from './use.ts';

export { BILLING_ACTOR, PROVIDER_ACTOR } from './acts.ts';
export { balanceOf, blocksOf, boughtLeft, boughtLeftLocked, drawsOf, ledgerOf } from './blocks.ts';
export type { Block, Draw, LedgerEntry } from './blocks.ts';
export { grant, purchase, revokeGrant } from './buy.ts';
export type { Grant, Purchase, Purchased, Revocation } from './buy.ts';
export { assertPayable, lockCredit, post } from './post.ts';
export type { CreditKind, NewTransfer, Outcome, Transfer } from './post.ts';
export { shortfallDue, shortfallOf, teamsWithShortfall } from './shortfall.ts';
export { disputeLost, disputeOpened, disputeWon, refund } from './take-back.ts';
export type { Dispute, Refund, TakenBack } from './take-back.ts';
export { returnUsed } from './return-used.ts';
export type { Returned } from './return-used.ts';
export { paidBackOf, statementPaidBack } from './paid-back.ts';
export type { PaidBack } from './paid-back.ts';
export { expireCredit, useCredit } from './use.ts';
export type { Use } from './use.ts';

export function creditsFeature(system: System): Feature {
  return { loops: [() => startExpiry(system)] };
}
