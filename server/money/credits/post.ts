/**
 * This file writes the ledger of credit. Whoever writes holds the lock of the team first, so that the
 * statement sees what the one before wrote: without it a busy team would lose nearly each race for the next
 * entry, and the violated key would end the transaction of the caller. The lock lasts until the transaction
 * ends: take it before an entry of the audit, and for one team in a transaction.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import { problem } from '@svc/proto/http/json-text.ts';
import { isUniqueViolation, type Database, type SqlTag } from '../../base/db/index.ts';
import { newId } from '../../base/ids.ts';
import type { Fragment } from '../../base/sql.ts';
import { wrongField } from '../../kit/wrong-field.ts';
import { moneyOf, payableStep } from '../amounts/index.ts';
import type { Account, creditTransfers } from './schema.ts';

export type CreditKind = (typeof creditTransfers.$inferSelect)['kind'];

export interface NewTransfer {
  /** Default: a new one. */
  readonly id?: string;
  readonly teamId: string;
  readonly kind: CreditKind;
  /** Origin of the transfer, which with the kind is unique for ever. */
  readonly source: string;
  readonly from: Account;
  readonly to: Account;
  /** Minor units, whole and above 0. */
  readonly cents: number;
  /** The purchase or grant that is used, given back or ended. */
  readonly blockId?: string | undefined;
  readonly reason?: string | undefined;
  readonly expiresAt?: Date | undefined;
  readonly at: Date;
}

export interface Transfer {
  readonly id: string;
  readonly cents: number;
  readonly createdAt: Date;
  /** Credit after it; null of a transfer that left it alone. */
  readonly balanceCents: number | null;
}

export type Outcome =
  | { readonly outcome: 'posted'; readonly transfer: Transfer }
  /** Posted before; this is the first one. */
  | { readonly outcome: 'repeated'; readonly transfer: Transfer }
  /** The account holds less than what should go from it. */
  | { readonly outcome: 'refused'; readonly account: Account; readonly balanceCents: number };

const lockOf = (sql: SqlTag, teamId: string): Fragment =>
  sql`hashtextextended('credit ' || ${teamId}::text, 0)`;

/** Until the transaction ends, nobody else writes the team's ledger. */
export async function lockCredit({ sql, inTransaction }: Database, teamId: string): Promise<void> {
  if (!inTransaction) throw new Error(`the lock on the credit of ${teamId} needs a transaction`);
  await sql`select pg_advisory_xact_lock(${lockOf(sql, teamId)})`;
}

/**
 * By itself or in the transaction of the caller, which goes on whatever the outcome is. By itself it is one
 * statement while nobody else writes the ledger of this team. Throws `validation_failed` for an amount that
 * is none.
 */
export async function post(db: Database, transfer: NewTransfer): Promise<Outcome> {
  assertAmount(transfer.cents);
  const tried = db.inTransaction ? undefined : await tryToPost(db, transfer);
  if (tried !== undefined) return tried;
  return await db.transact(async (tx) => {
    await lockCredit(tx, transfer.teamId);
    return await postLocked(tx, transfer);
  });
}

/** Returns undefined when somebody else writes this ledger, or wrote it after the statement began. */
async function tryToPost(db: Database, transfer: NewTransfer): Promise<Outcome | undefined> {
  try {
    return await insert(db, transfer);
  } catch (error) {
    if (isUniqueViolation(error)) return undefined;
    throw error;
  }
}

/**
 * Throws `validation_failed` for an amount that the provider would not take, also where nobody pays it: it
 * pays statements.
 */
export function assertPayable(amountCents: number, currency: string): void {
  const step = payableStep(currency);
  if (amountCents % step === 0) return;
  throw problem(
    'amountCents',
    'multiple',
    `must be a multiple of ${step}, since payments in ${currency.toUpperCase()} are of whole ${moneyOf(step, currency)}; got ${amountCents}`,
  );
}

export function assertAmount(cents: number): void {
  if (Number.isSafeInteger(cents) && cents > 0) return;
  const message = `the amount of credit is ${cents} minor units, it must be whole and greater than 0`;
  throw wrongField(message, { field: 'amountCents', rule: 'whole' });
}

interface Row extends Transfer {
  readonly outcome: Outcome['outcome'];
  readonly teamId: string;
  readonly account: Account;
}

/** Under the lock. */
export async function postLocked(tx: Database, transfer: NewTransfer): Promise<Outcome> {
  const outcome = await insert(tx, transfer);
  if (outcome !== undefined) return outcome;
  const { teamId, kind, source } = transfer;
  throw new Error(`credit of ${teamId}: another team has a ${kind} with the source ${source}`);
}

/**
 * This inserts the transfer and both of its entries by one statement. It writes only with the lock, which its
 * holder gets again. It refuses by itself what the tables would refuse, because a violated constraint ends
 * the transaction.
 */
async function insert(
  { sql }: Pick<Database, 'sql'>,
  { teamId, kind, source, from, to, cents, blockId = '', reason = '', expiresAt, at, ...rest }: NewTransfer,
): Promise<Outcome | undefined> {
  const made = rest.id ?? newId('crt', at.getTime());
  const [row] = await sql<Row[]>`
    with got as materialized (select pg_try_advisory_xact_lock(${lockOf(sql, teamId)}) as lock),
    legs (account, cents) as (values (${from}::text, -(${cents}::bigint)), (${to}::text, ${cents}::bigint)),
    next as materialized (
      select l.account, l.cents, e.seq as previous_seq, e.balance as previous_balance, coalesce(e.balance, 0) + l.cents as balance
      from legs l left join lateral (
        select seq, balance from credit_entries where team_id = ${teamId} and account = l.account order by seq desc limit 1
      ) e on true
    ),
    short as (select account, balance - cents as balance from next where account in ('available', 'disputed') and balance < 0),
    made as (
      insert into credit_transfers (id, team_id, kind, source, "from", "to", cents, block_id, reason, expires_at, created_at)
      select ${made}, ${teamId}, ${kind}, ${source}, ${from}, ${to}, ${cents}::bigint, nullif(${blockId}, ''), nullif(${reason}, ''),
        ${expiresAt ?? null}::timestamptz, ${at}::timestamptz
      where (select lock from got) and not exists (select from short)
      on conflict (kind, source) do nothing
      returning id, team_id, cents, created_at
    ),
    entries as (
      insert into credit_entries (team_id, account, seq, transfer_id, cents, previous_seq, previous_balance, balance)
      select m.team_id, n.account, coalesce(n.previous_seq, 0) + 1, m.id, n.cents, n.previous_seq, n.previous_balance, n.balance
      from made m cross join next n order by n.account
    ),
    known as (
      select t.id, t.team_id, t.cents, t.created_at,
        (select e.balance from credit_entries e where e.transfer_id = t.id and e.account = 'available') as balance
      from credit_transfers t where t.kind = ${kind} and t.source = ${source}
    )
    select 'posted' as outcome, id, team_id as "teamId", cents, created_at as "createdAt", '' as account,
      (select balance from next where account = 'available') as "balanceCents" from made
    union all select 'repeated', id, team_id, cents, created_at, '', balance from known
    union all select 'refused', '', ${teamId}, 0, ${at}::timestamptz, account, balance from short where not exists (select from known)`;
  if (row?.teamId !== teamId) return undefined;
  const { outcome, account, id, createdAt, balanceCents } = row;
  if (outcome === 'refused') return { outcome, account, balanceCents: balanceCents ?? 0 };
  return { outcome, transfer: { id, cents: row.cents, createdAt, balanceCents } };
}
