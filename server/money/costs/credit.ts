/** This file shows the credit of a team: its ledger, and what is left of it. */
import {
  CreditBalanceResponseSchema,
  CreditEntrySchema,
  type CreditBalanceRequest,
  type CreditEntry,
  type ListCreditLedgerRequest,
} from '@svc/proto/gen/svc/costs/v1/costs_pb.ts';
import type { Ctx } from '../../kit/context.ts';
import { closePage, openPage } from '../../kit/paging.ts';
import { shown } from '../../kit/resource/index.ts';
import { decimalsOf } from '../amounts/index.ts';
import { balanceOf, blocksOf, ledgerOf, type LedgerEntry } from '../credits/index.ts';
import type { Pricing } from '../plans/index.ts';
import { openNets, pendingCents } from '../statements/index.ts';

/** Later than each entry. */
const END = 2_147_483_647;

export async function listCreditLedger(request: ListCreditLedgerRequest, ctx: Ctx, { currency }: Pricing) {
  const { teamId } = request;
  const page = openPage(ctx, teamId, request);
  const before = Number(page.after?.[0] ?? END);
  const rows = await ledgerOf(ctx, { teamId, before, take: page.take });
  const { items, ...next } = closePage(page, rows, ({ seq }) => [seq]);
  return { ...next, entries: items.map((entry) => entryShown(entry, currency)) };
}

export function entryShown(entry: Omit<LedgerEntry, 'seq'>, currency: string): CreditEntry {
  return shown(CreditEntrySchema, { ...entry, currency, decimals: decimalsOf(currency) });
}

export async function creditBalance({ teamId }: CreditBalanceRequest, ctx: Ctx, pricing: Pricing) {
  const { sql } = ctx.db;
  const { currency } = pricing;
  const [balanceCents, blocks, nets] = await Promise.all([
    balanceOf(sql, teamId),
    blocksOf(sql, teamId),
    openNets(ctx, { teamId, ...pricing }),
  ]);
  const pending = pendingCents(nets);
  return shown(CreditBalanceResponseSchema, {
    currency,
    decimals: decimalsOf(currency),
    balanceCents,
    pendingCents: pending,
    availableCents: Math.max(0, balanceCents - pending),
    blocks,
  });
}
