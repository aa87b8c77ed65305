/**
 * The statement of one team and month, in one transaction with the credit that it uses, its event and its
 * entry in the ledger. A month of a team has one for ever.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import { findTeam } from '../../access/teams/index.ts';
import type { Database } from '../../base/db/index.ts';
import { addEvent } from '../../kit/events/index.ts';
import { newId } from '../../base/ids.ts';
import { appendAudit } from '../../kit/ledger/index.ts';
import { moneyOf } from '../amounts/index.ts';
import { BILLING_ACTOR, lockCredit, shortfallOf, useCredit } from '../credits/index.ts';
import { paidMonth, type Pricing } from '../plans/index.ts';
import { shortfallLine, totalsOf, usageLines, type Line, type Totals } from './lines.ts';

export interface TeamMonth {
  readonly teamId: string;
  /** First day of the month. */
  readonly period: string;
  readonly at: Date;
}

export interface Figures {
  readonly netCents: number;
  readonly dueCents: number;
}

interface Settled extends Totals {
  readonly id: string;
  readonly payerId: string | null;
  readonly currency: string;
  readonly plan: string;
  readonly creditCents: number;
  readonly dueCents: number;
}

/**
 * Returns undefined when the team used nothing and owes nothing, or the month has had its statement. The lock
 * on the credit of the team comes first: of two closers the second one waits for it, and finds what the first
 * one wrote.
 */
export async function settle(db: Database, pricing: Pricing, month: TeamMonth): Promise<Figures | undefined> {
  return await db.transact(async (tx) => {
    await lockCredit(tx, month.teamId);
    return (await isSettled(tx, month)) ? undefined : await settleLocked(tx, pricing, month);
  });
}

async function settleLocked(tx: Database, pricing: Pricing, month: TeamMonth): Promise<Figures | undefined> {
  const { teamId, at } = month;
  const { currency } = pricing;
  const id = newId('stm', at.getTime());
  const { payerId, plan, lines } = await computed(tx, pricing, { ...month, id });
  if (lines.length === 0) return undefined;
  const totals = totalsOf(lines);
  const creditCents = await useCredit(tx, { teamId, cents: totals.netCents, currency, source: id, at });
  const dueCents = totals.netCents - creditCents;
  const settled = { ...totals, id, payerId, plan: plan.id, currency, creditCents, dueCents };
  await insert(tx, month, settled);
  await insertLines(tx, id, lines);
  await tell(tx, month, settled);
  return { netCents: totals.netCents, dueCents };
}

/** A month that had its statement has had it, whatever became of that since. */
async function isSettled({ sql }: Database, { teamId, period }: TeamMonth): Promise<boolean> {
  const rows = await sql`select from settled_months where team_id = ${teamId} and period = ${period}::date`;
  return rows.length > 0;
}

async function computed(
  tx: Database,
  { currency, charges }: Pricing,
  { teamId, period, at, id }: TeamMonth & { readonly id: string },
) {
  const { payerId, plan, coverage } = await paidMonth(tx, { teamId, period, charges });
  const lines = await usageLines(tx.sql, { teamId, period, coverage, currency });
  const shortfall = await shortfallOf(tx, { teamId, statementId: id, currency, at });
  return { payerId, plan, lines: shortfall === 0 ? lines : [...lines, shortfallLine(shortfall, currency)] };
}

async function insert({ sql }: Database, { teamId, period, at }: TeamMonth, settled: Settled): Promise<void> {
  const { id, payerId, currency, plan, listCents, includedCents, netCents, creditCents, dueCents } = settled;
  await sql`
    with settled as (insert into settled_months (team_id, period, statement_id) values (${teamId}, ${period}::date, ${id}))
    insert into statements (id, team_id, payer_id, period, currency, plan, list_cents, included_cents, net_cents, credit_cents, due_cents, state, closed_at)
    values (${id}, ${teamId}, ${payerId}, ${period}::date, ${currency}, ${plan}, ${listCents}, ${includedCents}, ${netCents}, ${creditCents}, ${dueCents},
      ${dueCents === 0 ? 'settled' : 'closed'}, ${at})`;
}

async function insertLines({ sql }: Database, id: string, lines: readonly Line[]): Promise<void> {
  const rows = lines.map((line, n) => ({
    ...line,
    n: n + 1,
    list: line.list.toString(),
    included: line.included.toString(),
  }));
  await sql`
    insert into statement_lines (statement_id, n, meter, price_id, metered_ms, included_ms, list, included, list_cents, net_cents)
    select ${id}, n, meter, "priceId", "meteredMs", "includedMs", list, included, "listCents", "netCents"
    from jsonb_to_recordset(${sql.json(rows)}::jsonb) r(n int, meter text, "priceId" text, "meteredMs" bigint, "includedMs" bigint, list numeric, included numeric,
      "listCents" bigint, "netCents" bigint)`;
}

/** A team that is gone has nobody to tell; its ledger stays. */
async function tell(tx: Database, { teamId, period, at }: TeamMonth, settled: Settled): Promise<void> {
  const { id, currency, plan, listCents, netCents, creditCents, dueCents } = settled;
  const details = { period: period.slice(0, 7), plan, currency, listCents, netCents, creditCents, dueCents };
  const team = await findTeam(tx, teamId);
  if (team !== undefined) {
    const words = {
      title: `The statement of ${team.name} for ${details.period} is there`,
      body: `${comesTo(settled)} svc teams billing ${teamId} shows its lines.`,
    };
    const payload = { statementId: id, ...details, ...words };
    await addEvent(tx, { teamId, kind: 'statement.closed', key: id, payload, at });
  }
  const act = { chain: teamId, action: 'statement.closed', target: id, details };
  await appendAudit(tx, { ...act, actor: BILLING_ACTOR, requestId: '' }, at);
}

function comesTo({ currency, netCents, creditCents, dueCents }: Settled): string {
  const credit = creditCents === 0 ? '' : `, of it ${moneyOf(creditCents, currency)} from credit`;
  const due = dueCents === 0 ? 'Nothing is due' : `${moneyOf(dueCents, currency)} is due`;
  return `It comes to ${moneyOf(netCents, currency)}${credit}. ${due}.`;
}
