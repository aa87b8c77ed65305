/**
 * Credit that was bought and given back: charges of their own, which what they pay for later is not billed
 * again.
 */
import { picoOf } from '../amounts/index.ts';
import { addDays, dayOf, monthOf } from '../metering/index.ts';
import type { Charge } from './charge.ts';
import { monthOfTeam } from './export-account.ts';
import { OF_NOTHING } from './export-days.ts';
import type { ExportOf } from './export-of.ts';

interface Row {
  readonly kind: 'purchase' | 'refund' | 'dispute_lost' | 'statement_refund' | 'statement_dispute_lost';
  readonly cents: number;
  readonly at: Date;
}

const DESCRIPTIONS: Readonly<Record<Row['kind'], string>> = {
  purchase: 'Credit, bought',
  refund: 'Credit, given back',
  dispute_lost: 'Credit, whose payment was taken back',
  statement_refund: 'Statement, given back',
  statement_dispute_lost: 'Statement, whose payment was taken back',
};

export async function* purchaseCharges(of: ExportOf): AsyncGenerator<readonly Charge[]> {
  const { currency } = of;
  const charges: Charge[] = [];
  for (const { kind, cents, at } of await readRows(of)) {
    const isCorrection = kind !== 'purchase';
    const amount = picoOf(cents, currency);
    const list = isCorrection ? -amount : amount;
    const common = {
      isCorrection,
      description: DESCRIPTIONS[kind],
      ...(await chargedAt(of, at)),
      billed: list,
      invoiceId: null,
      ...OF_NOTHING,
    };
    const isCredit = !kind.startsWith('statement_');
    charges.push(
      isCredit
        ? { ...common, category: 'Purchase', ...unitsOf(list, { meter: 'credit', currency }), effective: 0n }
        : { ...common, category: 'Adjustment', ...NO_SKU, effective: list },
    );
  }
  if (charges.length > 0) yield charges;
}

/** The day of a charge, with the month and the account that it is of. */
export async function chargedAt({ reader, team, currency }: ExportOf, at: Date) {
  const day = dayOf(at.getTime());
  const { account, period } = await monthOfTeam(reader, { team, period: monthOf(day), currency });
  return { account, period, since: day, until: addDays(day, 1) };
}

const NO_SKU = { quantity: null, unit: null, nanos: null, list: 0n } as const;

/** A unit costs one of the currency, so that its price is always the same. */
export function unitsOf(
  list: bigint,
  { meter, currency }: { readonly meter: string; readonly currency: string },
) {
  const quantity = Number(list / THOUSANDTH);
  return {
    quantity,
    unit: 'Units',
    nanos: UNIT_NANOS,
    list,
    meter,
    priceId: `${meter}.${currency}`,
  } as const;
}

/** Pico-units; no currency has more than three decimals. */
const THOUSANDTH = 10n ** 9n;
const UNIT_NANOS = 1_000_000_000;

/** A team has few of them; more than these are no list that a person bought. */
const PURCHASES_MAX = 10_000;

async function readRows({ reader: { db, teams }, team, since, until }: ExportOf): Promise<readonly Row[]> {
  return await db.behind.sql<Row[]>`
    select kind, cents::float8 as cents, created_at as at from credit_transfers
    where team_id = ${team.id} and team_id = any(${teams.teamIds}::text[]) and kind in ('purchase', 'refund', 'dispute_lost', 'statement_refund', 'statement_dispute_lost') and "to" <> 'consumed'
      and created_at >= (${since}::date)::timestamp at time zone 'UTC' and created_at < (${until}::date)::timestamp at time zone 'UTC'
    order by created_at, id limit ${PURCHASES_MAX}`;
}
