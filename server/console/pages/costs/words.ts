/** Amounts, months and parts as people say them. */
import {
  majorText,
  type BillingStanding,
  type Budget,
  type CostPart,
  type CostSummary,
  type CreditKind,
  type StatementState,
} from '@svc/sdk';

export interface Currency {
  readonly currency: string;
  readonly decimals: number;
}

/**
 * Returns a decimal text as words with all decimals of the currency, and below one unit with more where they
 * say something.
 */
export function amount(text: string, { currency, decimals }: Currency): string {
  const size = Math.abs(Number(text));
  const telling = size > 0 && size < 1 ? 1 - Math.floor(Math.log10(size)) : 0;
  return new Intl.NumberFormat('en', {
    style: 'currency',
    currency: currency.toUpperCase(),
    minimumFractionDigits: decimals,
    maximumFractionDigits: Math.max(decimals, telling),
  }).format(text as `${number}`);
}

/**
 * Returns words that say minor units. `decimals` are those of the currency, which Intl takes for fewer now
 * and then.
 */
export function ofCents(cents: number | bigint, of: Currency): string {
  return amount(majorText(cents, of.decimals), of);
}

/**
 * The net of a time as its statement has it, which is rounded line by line. Less than one unit is shown
 * exactly.
 */
export function netWords(of: Pick<CostSummary, 'net' | 'netCents'> & Currency): string {
  return Number(of.net) < 1 ? amount(of.net, of) : ofCents(of.netCents, of);
}

/** `12 h`, `40 min`, `3 s` of metered time. */
export function time(seconds: number): string {
  if (seconds < 60) return `${Math.round(seconds)} s`;
  if (seconds < 3_600) return `${Math.round(seconds / 60)} min`;
  return `${(Math.round(seconds / 360) / 10).toLocaleString('en')} h`;
}

/** Returns the month that `2026-11` or one of its days is in, as `November 2026`. */
export function month(text: string): string {
  return named(text.slice(0, 7), { month: 'long', year: 'numeric' });
}

/** Returns the day as it is written in `Thursday, 26 November`. */
export function day(text: string): string {
  return named(text, { weekday: 'long', day: 'numeric', month: 'long' });
}

function named(text: string, parts: Intl.DateTimeFormatOptions): string {
  return new Intl.DateTimeFormat('en-GB', { ...parts, timeZone: 'UTC' }).format(
    new Date(`${text.length === 7 ? `${text}-01` : text}T00:00:00Z`),
  );
}

/** Returns the name that a part has. `none` is the name of work that belongs to no such part. */
export function partName(
  { id, name, others }: Pick<CostPart, 'id' | 'name' | 'others'>,
  none: string,
): string {
  if (others !== undefined) return `${others.toLocaleString('en')} others`;
  return name ?? id ?? none;
}

export function scopeName({ projectId, environmentId }: Budget, names: ReadonlyMap<string, string>): string {
  const id = environmentId ?? projectId;
  if (id === undefined) return 'The whole team';
  return `${environmentId === undefined ? 'Project' : 'Environment'} ${names.get(id) ?? id}`;
}

const CREDIT_WORDS: Readonly<Record<CreditKind, string>> = {
  purchase: 'Bought',
  grant: 'Granted',
  usage: 'Paid a statement',
  refund: 'Refunded',
  expiry: 'Expired',
  dispute: 'Held back: payment disputed',
  dispute_won: 'Given back: dispute won',
  dispute_lost: 'Dispute lost',
  usage_returned: 'Given back: statement voided',
  grant_revoked: 'Grant taken back',
  statement_refund: 'Statement refunded',
  statement_dispute_lost: 'Statement: dispute lost',
};

export const creditWords = (kind: CreditKind): string => CREDIT_WORDS[kind] ?? kind;

const STATEMENT_WORDS: Readonly<Record<StatementState, string>> = {
  closed: 'Closed',
  settled: 'Nothing due',
  invoiced: 'Invoiced',
  paid: 'Paid',
  failed: 'Payment failed',
  voided: 'Given up',
};

export const statementWords = (state: StatementState): string => STATEMENT_WORDS[state] ?? state;

const STANDING_WORDS: Readonly<Record<BillingStanding, string>> = {
  self_hosted: 'Nothing is charged on this installation.',
  free: 'Nothing is bought.',
  active: 'The plan is paid for.',
  past_due: 'A payment failed. The plan holds for seven days from then.',
  pending: 'The first payment is not through yet.',
};

export const standingWords = (standing: BillingStanding): string => STANDING_WORDS[standing] ?? standing;
