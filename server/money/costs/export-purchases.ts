/** Credit that was bought and given back: charges of their own, which what they pay for later is not billed again. */
import { picoOf } from '../amounts/index.ts';
import { addDays, dayOf, monthOf } from '../metering/index.ts';
import type { Charge } from './charge.ts';
import { monthOfTeam } from './export-account.ts';
import { OF_NOTHING } from './export-days.ts';
import type { ExportOf } from './export-of.ts';

interface Row {
  readonly kind: 'purchase' | 'refund' | 'dispute_lost';
  readonly cents: number;
  readonly at: Date;
}

const DESCRIPTIONS: Readonly<Record<Row['kind'], string>> = {
  purchase: 'Credit, bought',
  refund: 'Credit, given back',
  dispute_lost: 'Credit, whose payment was taken back',
};

export async function* purchaseCharges(of: ExportOf): AsyncGenerator<readonly Charge[]> {
  const rows = await readRows(of);
  if (rows.length === 0) return;
  const { reader, team, currency } = of;
  const charges: Charge[] = [];
  for (const { kind, cents, at } of rows) {
    const day = dayOf(at.getTime());
    const { account, period } = await monthOfTeam(reader, { team, period: monthOf(day), currency });
    const isCorrection = kind !== 'purchase';
    const amount = picoOf(cents, currency);
    const list = isCorrection ? -amount : amount;
    charges.push({
      category: 'Purchase',
      isCorrection,
      description: DESCRIPTIONS[kind],
      account,
      period,
      since: day,
      until: addDays(day, 1),
      quantity: isCorrection ? -1_000 : 1_000,
      unit: 'Units',
      nanos: Number(amount / 1_000n),
      list,
      billed: list,
      effective: 0n,
      invoiceId: null,
      ...OF_NOTHING,
    });
  }
  yield charges;
}

/** A team has few of them; more than these are no list that a person bought. */
const PURCHASES_MAX = 10_000;

async function readRows({ reader: { db, teams }, team, since, until }: ExportOf): Promise<readonly Row[]> {
  return await db.behind.sql<Row[]>`
    select kind, cents::float8 as cents, created_at as at from credit_transfers
    where team_id = ${team.id} and team_id = any(${[...teams.teamIds]}::text[]) and kind in ('purchase', 'refund', 'dispute_lost') and "to" <> 'consumed'
      and created_at >= (${since}::date)::timestamp at time zone 'UTC' and created_at < (${until}::date)::timestamp at time zone 'UTC'
    order by created_at, id limit ${PURCHASES_MAX}`;
}
