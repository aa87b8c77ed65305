/**
 * Credit of teams is paid before use, or granted. It is kept in a ledger by double entry, whose balance the
 * database refuses to falsify.
 */
import { teamCredit, teamsFeature } from '../../access/teams/index.ts';
import { amountsFeature } from '../amounts/index.ts';
import { declareFeature, fill } from '../../kit/feature.ts';
import { boughtLeftLocked } from './blocks.ts';
import { startExpiry } from './use.ts';

export { BILLING_ACTOR, PROVIDER_ACTOR } from './acts.ts';
export { balanceOf, blocksOf, boughtLeft, drawsOf, ledgerOf, type LedgerEntry } from './blocks.ts';
export { grant, purchase, revokeGrant } from './buy.ts';
export { assertPayable, lockCredit, post, type NewTransfer } from './post.ts';
export { shortfallDue, shortfallOf, teamsWithShortfall } from './shortfall.ts';
export { disputeLost, disputeOpened, disputeWon, refund } from './take-back.ts';
export { returnUsed } from './return-used.ts';
export { paidBackOf, statementPaidBack, type PaidBack } from './paid-back.ts';
export { expireCredit, useCredit } from './use.ts';

export const creditsFeature = declareFeature({
  name: 'credits',
  on: { teams: teamsFeature, amounts: amountsFeature },
  prefixes: ['crt'],
  events: {
    'credit.low': {
      when: 'The credit of the team is less than a tenth of what it was when it was last bought.',
      scope: 'billing:read',
      notifies: true,
      delivered: true,
    },
  },
  reads: ['credit_entries', 'credit_transfers'],
  start: (system) => ({
    loops: [() => startExpiry(system)],
    fills: [fill(teamCredit, { boughtLeft: boughtLeftLocked })],
  }),
});
