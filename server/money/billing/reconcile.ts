/**
 * Looks that the server takes by itself, for what the provider told and nobody heard. Each is an event of the
 * customer's lane, so that it waits for its turn.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { SqlTag } from '../../base/db/index.ts';
import type { Fragment } from '../../base/sql.ts';
import { SELF_HOSTED } from '../plans/index.ts';
import { GRACE_MS, REMINDER_MS } from './account-plan.ts';

const CHECKOUT_MS = 10 * 60_000;
const ACCOUNT_MS = 24 * 60 * 60_000;
const INVOICE_MS = 24 * 60 * 60_000;
/** One pass takes so many of those that are due; when staff ask, it takes all of them. */
const TAKE = 500;

export interface Looks {
  readonly checkouts: number;
  readonly accounts: number;
  readonly statements: number;
}

/** `all`: those that are not due yet as well. */
export interface Look {
  readonly now: Date;
  readonly all: boolean;
}

/** Adds the looks that are selected (id, type, lane, object_id), each once. Returns how many are new. */
async function add(sql: SqlTag, looks: Fragment): Promise<number> {
  const added = await sql`
    insert into billing_events (id, type, lane, object_id, received_at, due_at)
    select l.id, l.type, l.lane, l.object_id, now(), now() from (${looks}) as l (id, type, lane, object_id)
    on conflict (id) do nothing returning 1`;
  return added.length;
}

/** This part of an event's id is the same for two servers that look at the same time, so that one adds it. */
function slot(now: Date, everyMs: number, all: boolean): string {
  return all ? `now${now.getTime()}` : String(Math.floor(now.getTime() / everyMs));
}

export async function addLooks(sql: SqlTag, look: Look): Promise<Looks> {
  return {
    checkouts: await add(sql, checkoutsDue(sql, look)),
    accounts: await add(sql, accountsDue(sql, look)),
    statements: (await add(sql, statementsDue(sql, look))) + (await add(sql, invoicesDue(sql, look))),
  };
}

/** Not ended for ten minutes: open, or to be paid later. */
function checkoutsDue(sql: SqlTag, { now, all }: Look): Fragment {
  const before = new Date(now.getTime() - (all ? 0 : CHECKOUT_MS));
  return sql`
    select 'checkout:' || c.id || ':' || ${slot(now, CHECKOUT_MS, all)}::text, 'svc.checkout', b.customer_id, c.id
    from billing_checkouts c join billing_customers b on b.user_id = c.user_id
    where c.ended_at is null and c.state in ('creating', 'open', 'completed') and c.created_at <= ${before}
      and not exists (select 1 from billing_events e where e.lane = b.customer_id and e.object_id = c.id and e.done_at is null)
    order by c.created_at limit ${all ? null : TAKE}::int`;
}

function accountsDue(sql: SqlTag, { now, all }: Look): Fragment {
  const before = new Date(now.getTime() - (all ? 0 : ACCOUNT_MS));
  return sql`
    select 'account:' || b.customer_id || ':' || ${slot(now, ACCOUNT_MS / 24, all)}::text, 'svc.account', b.customer_id, b.customer_id
    from billing_customers b
    where coalesce(b.reconciled_at, b.created_at) <= ${before}
      and not exists (select 1 from billing_events e where e.lane = b.customer_id and e.type = 'svc.account' and e.done_at is null)
    order by coalesce(b.reconciled_at, b.created_at) limit ${all ? null : TAKE}::int`;
}

/**
 * Closed, with something due, of a payer with a customer: without one they stay as they are, and so do those
 * of months without a provider.
 */
function statementsDue(sql: SqlTag, { now, all }: Look): Fragment {
  return sql`
    select 'statement:' || s.id || ':' || ${slot(now, 60_000, all)}::text, 'svc.statement', b.customer_id, s.id
    from statements s join billing_customers b on b.user_id = s.payer_id
    where s.state = 'closed' and s.due_cents > 0 and s.plan <> ${SELF_HOSTED.id}
      and not exists (select 1 from billing_events e where e.lane = b.customer_id and e.object_id = s.id and e.done_at is null)
    order by s.closed_at limit ${all ? null : TAKE}::int`;
}

function invoicesDue(sql: SqlTag, { now, all }: Look): Fragment {
  return sql`
    select 'invoice:' || s.invoice_id || ':' || ${slot(now, INVOICE_MS, all)}::text, 'svc.invoice', b.customer_id, s.invoice_id
    from statements s join billing_customers b on b.user_id = s.payer_id
    where s.state in ('invoiced', 'failed') and s.invoice_id is not null
      and not exists (select 1 from billing_events e where e.id = 'invoice:' || s.invoice_id || ':' || ${slot(now, INVOICE_MS, all)}::text)
    order by s.closed_at limit ${all ? null : TAKE}::int`;
}

/** Accounts whose payment failed five days ago, and those whose days of grace are over. */
export async function addDunning(sql: SqlTag, now: Date): Promise<number> {
  const since = (waitMs: number) => new Date(now.getTime() - waitMs);
  const looks = sql`
    select w.word || ':' || a.user_id || ':' || floor(extract(epoch from a.past_due_since) * 1000)::bigint, 'svc.' || w.word, b.customer_id, a.user_id
    from account_plans a join billing_customers b on b.user_id = a.user_id
    join (values ('reminder', ${since(REMINDER_MS)}::timestamptz), ('lapse', ${since(GRACE_MS)}::timestamptz)) as w (word, before)
      on a.past_due_since <= w.before
    where a.standing = 'past_due'`;
  return await add(sql, looks);
}

export interface LooksLeft {
  readonly left: number;
  readonly failed: number;
}

/** Looks of that moment that are not done, and how many of them the provider did not answer. */
export async function looksLeft(sql: SqlTag, now: Date): Promise<LooksLeft> {
  const [row] = await sql<LooksLeft[]>`
    select count(*)::int as left, count(*) filter (where last_error is not null)::int as failed
    from billing_events where done_at is null and id like '%:now' || ${String(now.getTime())}`;
  return row ?? { left: 0, failed: 0 };
}
