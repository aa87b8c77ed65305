/**
 * This file makes the invoices of statements. It looks first for what is there, by our own mark: an answer
 * may have been lost, and the provider forgets keys after a day. An invoice is read before it is made final;
 * if it is not over exactly what is due, it is deleted and those who run the installation are told.
 */
import { moneyOf } from '../amounts/index.ts';
import { meterWords } from '../metering/index.ts';
import { SELF_HOSTED } from '../plans/index.ts';
import {
  linesOf,
  SHORTFALL,
  statementById,
  type StatementLineRow,
  type StatementRow,
} from '../statements/index.ts';
import { noEffects, type BillingDeps, type Effects } from './billing-deps.ts';
import { accountOf, customerOf, ensureCustomer } from './customers.ts';
import type { InvoiceLine, ProviderInvoice } from './provider.ts';
import { followInvoice } from './statement-moves.ts';

/** The provider takes 250 an invoice. */
const LINES_MAX = 200;
/** Drafts of a statement that were deleted one after the other. */
const DRAFTS_MAX = 9;

/** For a statement that is closed and has something due. */
export async function invoiceStatement(deps: BillingDeps, statementId: string): Promise<Effects> {
  const { db, provider } = deps;
  const statement = await statementById(db, statementId);
  if (statement === undefined || statement.state !== 'closed' || statement.dueCents <= 0) return noEffects;
  if (statement.plan === SELF_HOSTED.id) return noEffects;
  const { payerId } = statement;
  if (payerId === null || (await customerOf(db.sql, payerId)) === undefined) return noEffects;
  const customerId = await ensureCustomer(deps, payerId);
  const lines = invoiceLines(statement, await linesOf(db, statementId));
  const draft = await draftOf(deps, statement, customerId);
  if (draft.state === 'draft') await provider.addLines(draft, lines);
  const whole = await provider.invoice(draft.id);
  if (whole === undefined) throw new Error(`the invoice ${draft.id} of ${statementId} is gone`);
  const problem = differs(whole, statement);
  if (problem !== undefined) {
    if (whole.state === 'draft') await provider.deleteDraft(whole.id);
    throw new Error(`the invoice ${whole.id} of ${statementId} is not made final: ${problem}`);
  }
  const final = await provider.finalise(whole.id);
  return async (change) => {
    if (final !== undefined) await followInvoice(change, statement, final);
  };
}

function differs({ totalCents, currency }: ProviderInvoice, { dueCents, currency: own }: StatementRow) {
  if (currency !== own) return `its currency is ${currency}, expected ${own}`;
  const [is, wanted] = [totalCents, dueCents].map((cents) => moneyOf(cents, currency));
  return totalCents === dueCents ? undefined : `it is over ${is}, expected ${wanted}`;
}

/** The one that there is, or a new draft. Of several drafts one stays. */
async function draftOf(
  { provider }: BillingDeps,
  { id: statementId, currency }: StatementRow,
  customerId: string,
): Promise<ProviderInvoice> {
  const all = await provider.invoicesOf(customerId, statementId);
  const final = all.find(({ state }) => state !== 'draft');
  const [first, ...more] = all.filter(({ state }) => state === 'draft');
  const surplus = final === undefined ? more : first === undefined ? [] : [first, ...more];
  for (const { id } of surplus) await provider.deleteDraft(id);
  const found = final ?? first;
  if (found !== undefined) return found;
  for (let nth = 1; nth <= DRAFTS_MAX; nth += 1) {
    const made = await provider.createInvoice({ customerId, statementId, currency }, nth);
    if (made !== undefined) return made;
  }
  throw new Error(`${DRAFTS_MAX} drafts of ${statementId} were made and deleted within a day`);
}

const SHORTFALL_WORDS = 'Credit that was refunded after its use';

/** They sum to what is due. */
export function invoiceLines(
  { period, netCents, creditCents }: Pick<StatementRow, 'period' | 'netCents' | 'creditCents'>,
  lines: readonly StatementLineRow[],
): readonly InvoiceLine[] {
  const month = period.slice(0, 7);
  const paid = lines.filter((line) => line.netCents !== 0);
  const own = paid.slice(0, LINES_MAX).map(({ n, meter, netCents: amountCents, meteredMs, includedMs }) => ({
    n,
    amountCents,
    description: `${meter === SHORTFALL ? SHORTFALL_WORDS : meterWords(meter)}, ${month}: ${seconds(meteredMs - includedMs)} s`,
  }));
  const sum = own.reduce((total, { amountCents }) => total + amountCents, 0);
  const rest =
    netCents === sum
      ? []
      : [{ n: 9_998, amountCents: netCents - sum, description: `Further time, ${month}` }];
  const credit =
    creditCents === 0
      ? []
      : [{ n: 9_999, amountCents: -creditCents, description: `Paid from credit, ${month}` }];
  return [...own, ...rest, ...credit];
}

const seconds = (ms: number): string => (ms / 1_000).toFixed(3);

/** State of an invoice of ours, as it is read now. */
export async function settleInvoice(
  deps: BillingDeps,
  invoice: ProviderInvoice | undefined,
): Promise<Effects> {
  const statement = invoice && (await statementOfInvoice(deps, invoice));
  if (invoice === undefined || statement === undefined) return noEffects;
  return async (change) => await followInvoice(change, statement, invoice);
}

/**
 * Our own row decides: an invoice that says of itself what is not so has no effect, and those who run the
 * installation are told. Undefined as well: it is of no statement.
 */
export async function statementOfInvoice(
  deps: BillingDeps,
  invoice: ProviderInvoice,
): Promise<StatementRow | undefined> {
  const { statementId, customerId } = invoice;
  if (statementId === undefined) return undefined;
  const { db } = deps;
  const statement = await statementById(db, statementId);
  const payerId = customerId === undefined ? undefined : await accountOf(db.sql, customerId);
  const problem =
    statement === undefined
      ? 'there is no such statement'
      : payerId === undefined || statement.payerId !== payerId
        ? 'it is of another customer'
        : statement.invoiceId !== null && statement.invoiceId !== invoice.id
          ? `the statement has the invoice ${statement.invoiceId}`
          : invoice.state === 'draft'
            ? undefined
            : differs(invoice, statement);
  if (statement === undefined || problem !== undefined) {
    deps.onError(
      new Error(`invoice ${invoice.id} says that it is of ${statementId}, and has no effect: ${problem}`),
    );
    return undefined;
  }
  return statement;
}
