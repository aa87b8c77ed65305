/**
 * The statement of one team and month, in one transaction with the credit that it uses, its event and its entry in the ledger. Unique (team, period): of two closers the second one waits for the
 * first and finds its statement.
 */
import { findTeam } from '../../access/teams/index.ts';
import type { Database } from '../../platform/db/index.ts';
import { addEvent } from '../../platform/events.ts';
import { newId } from '../../platform/ids.ts';
import { appendAudit } from '../../platform/ledger/index.ts';
import { BILLING_ACTOR, shortfallOf, useCredit } from '../credits/index.ts';
import { paidMonth } from '../plans/index.ts';
import type { Pricing } from '../plans/index.ts';
import { shortfallLine, totalsOf, usageLines } from './lines.ts';
import type { Line, Totals } from './lines.ts';
import { wordsOf } from './words.ts';

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

interface Head extends Totals {
  readonly id: string;
  readonly payerId: string | null;
  readonly currency: string;
  readonly plan: string;
}

/** Undefined: the team used nothing and owes nothing, or its statement is there already. */
export async function settle(db: Database, pricing: Pricing, month: TeamMonth): Promise<Figures | undefined> {
  try {
    return await db.transact(async (tx) => await settleIn(tx, pricing, month));
  } catch (error) {
    if (error instanceof Settled) return undefined;
    throw error;
  }
}

/** Somebody else was faster: what was put on this statement, such as a shortfall of credit, is not on it. */
class Settled extends Error {}

async function settleIn(tx: Database, pricing: Pricing, month: TeamMonth): Promise<Figures | undefined> {
  const { teamId, at } = month;
  if (await isSettled(tx, month)) return undefined;
  const id = newId('stm', at.getTime());
  const { payerId, plan, lines } = await computed(tx, pricing, { ...month, id });
  if (lines.length === 0) return undefined;
  const head = { id, payerId, plan: plan.id, currency: pricing.currency, ...totalsOf(lines) };
  if (!(await insert(tx, month, head))) throw new Settled();
  await insertLines(tx, id, lines);
  const creditCents = await useCredit(tx, { teamId, cents: head.netCents, source: id, at });
  const dueCents = head.netCents - creditCents;
  await tx.sql`
      update statements set credit_cents = ${creditCents}, due_cents = ${dueCents}, state = ${dueCents === 0 ? 'settled' : 'closed'} where id = ${id}`;
  await tell(tx, month, { ...head, creditCents, dueCents });
  return { netCents: head.netCents, dueCents };
}

/** Asked first, so that a rehearsal of several months puts no shortfall on a statement that is there already. */
async function isSettled({ sql }: Database, { teamId, period }: TeamMonth): Promise<boolean> {
  const rows = await sql`select from statements where team_id = ${teamId} and period = ${period}::date`;
  return rows.length > 0;
}

async function computed(
  tx: Database,
  { currency, charges }: Pricing,
  { teamId, period, at, id }: TeamMonth & { readonly id: string },
) {
  const { payerId, plan, coverage } = await paidMonth(tx, { teamId, period, charges });
  const lines = await usageLines(tx.sql, { teamId, period, coverage, currency });
  const shortfall = await shortfallOf(tx, { teamId, statementId: id, at });
  return { payerId, plan, lines: shortfall === 0 ? lines : [...lines, shortfallLine(shortfall, currency)] };
}

/** Before credit is used. False: the statement is there. */
async function insert({ sql }: Database, { teamId, period, at }: TeamMonth, head: Head): Promise<boolean> {
  const { id, payerId, currency, plan, listCents, includedCents, netCents } = head;
  const rows = await sql`
    insert into statements (id, team_id, payer_id, period, currency, plan, list_cents, included_cents, net_cents, credit_cents, due_cents, state, closed_at)
    values (${id}, ${teamId}, ${payerId}, ${period}::date, ${currency}, ${plan}, ${listCents}, ${includedCents}, ${netCents}, 0, ${netCents}, 'closed', ${at})
    on conflict (team_id, period) do nothing returning 1`;
  return rows.length === 1;
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

interface Outcome extends Head {
  readonly creditCents: number;
  readonly dueCents: number;
}

/** A team that is gone has nobody to tell; its ledger stays. */
async function tell(tx: Database, { teamId, period, at }: TeamMonth, settled: Outcome): Promise<void> {
  const { id, currency, plan, listCents, netCents, creditCents, dueCents } = settled;
  const details = { period: period.slice(0, 7), plan, currency, listCents, netCents, creditCents, dueCents };
  const team = await findTeam(tx, teamId);
  if (team !== undefined) {
    const payload = { statementId: id, ...details, ...wordsOf({ ...details, teamId, team: team.name }) };
    await addEvent(tx, { teamId, kind: 'statement.closed', key: id, payload, at });
  }
  const act = { chain: teamId, action: 'statement.closed', target: id, details };
  await appendAudit(tx, { ...act, actor: BILLING_ACTOR, requestId: '' }, at);
}
