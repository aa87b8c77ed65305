/**
 * Fees of plans, which an account pays for all its teams: each has an equal part, and the parts sum to the
 * fee.
 */
import { teamsPaidBy } from '../../access/teams/index.ts';
import { picoOf, shared } from '../amounts/index.ts';
import { planById } from '../plans/index.ts';
import type { Charge } from './charge.ts';
import { OF_NOTHING } from './export-days.ts';
import { chargedAt, unitsOf } from './export-purchases.ts';
import type { ExportOf } from './export-of.ts';

interface Fee {
  readonly invoiceId: string;
  readonly userId: string;
  readonly plan: string;
  readonly cents: number;
  readonly paidAt: Date;
}

export async function* feeCharges(of: ExportOf): AsyncGenerator<readonly Charge[]> {
  const charges: Charge[] = [];
  for (const fee of await readFees(of)) {
    const cents = await partOf(of, fee);
    if (cents !== 0) charges.push(await chargeOf(of, fee, cents));
  }
  if (charges.length > 0) yield charges;
}

/** Reads the fees of whoever has paid for the team. */
async function readFees({ reader: { db, teams }, team, since, until }: ExportOf): Promise<readonly Fee[]> {
  return await db.behind.sql<Fee[]>`
    select f.invoice_id as "invoiceId", f.user_id as "userId", f.plan, f.cents::float8 as cents, f.paid_at as "paidAt" from plan_fees f
    where f.user_id in (select payer_id from team_payers where team_id = ${team.id} and team_id = any(${teams.teamIds}::text[]))
      and f.paid_at >= (${since}::date)::timestamp at time zone 'UTC' and f.paid_at < (${until}::date)::timestamp at time zone 'UTC'
    order by f.paid_at, f.invoice_id`;
}

/** The fee is shared by the teams that the account paid for then; another team has no part of it. */
async function partOf({ reader: { db }, team }: ExportOf, { userId, cents, paidAt }: Fee): Promise<number> {
  // The provider's times are whole seconds.
  const before = new Date(paidAt.getTime() + 1_000);
  const teamIds = await teamsPaidBy(db.behind.sql, { payerId: userId, before });
  const parts = shared(
    cents,
    teamIds.map((key) => ({ key, weight: 1n })),
  );
  return parts[teamIds.indexOf(team.id)] ?? 0;
}

async function chargeOf(of: ExportOf, { invoiceId, plan, paidAt }: Fee, cents: number): Promise<Charge> {
  const { currency } = of;
  const list = picoOf(cents, currency);
  return {
    category: 'Purchase',
    isCorrection: cents < 0,
    description: `Plan ${planById(plan).name}`,
    ...(await chargedAt(of, paidAt)),
    billed: list,
    effective: list,
    ...OF_NOTHING,
    // A fee that went back has an id that begins with that of its invoice.
    invoiceId: invoiceId.split(' ')[0] ?? invoiceId,
    ...unitsOf(list, { meter: `plan.${plan}`, currency }),
  };
}
